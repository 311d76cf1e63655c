import assert from 'node:assert/strict';
import { test } from 'node:test';
import { directErrors } from '../../../lib/direct/index.ts';
import { pkiErrors } from '../../../lib/pki/index.ts';
import { smimeErrors } from '../../../lib/smime/index.ts';
import { inboundTextOf } from './inbound-texts.ts';

const ownFault = inboundTextOf('INTERNAL').text;

/** Codes of what an operator imports, of sending and of discovery: not of received mail. */
const notOfMail = new Set(
  `DIRECT_HEADER_MISSING DIRECT_BLIND_COPY DIRECT_BINARY_PART DIRECT_SENDER_CERTIFICATE_UNUSABLE
  DIRECT_RECIPIENT_NOT_VISIBLE DIRECT_NO_TRUSTED_RECIPIENTS DIRECT_RECIPIENT_CERTIFICATE_MISSING
  DIRECT_RECIPIENT_CERTIFICATES_INVALID DIRECT_RECIPIENT_UNTRUSTED DIRECT_RECIPIENT_UNDECIDED DIRECT_SEAL_FAILED
  DIRECT_POLICY_INVALID PKI_KEY_MALFORMED PKI_CERTIFICATE_SET_MALFORMED PKI_TOO_MANY_CERTIFICATES
  PKI_BUNDLE_MALFORMED PKI_BUNDLE_UNSIGNED
  PKI_BUNDLE_SIGNATURE SMIME_NO_SIGNERS SMIME_SIGNING_KEY_NOT_ALLOWED SMIME_SIGNING_KEY_MISMATCH
  SMIME_SIGNING_KEY_USAGE SMIME_NO_RECIPIENTS SMIME_RECIPIENT_KEY_NOT_ALLOWED SMIME_RECIPIENT_KEY_USAGE`.split(
    /\s+/,
  ),
);

test('SEC-02: each code that received mail can be refused with has words of its own', () => {
  const known = Object.keys({ ...directErrors, ...pkiErrors, ...smimeErrors });
  const general = new Set([ownFault, inboundTextOf('MIME_MALFORMED').text]);
  const codes = [...known, 'MIME_TOO_DEEP', 'date-too-old', 'date-in-future', 'AGENT_NO_DECRYPTION_KEY'];
  assert.deepEqual(
    codes.filter((code) => general.has(inboundTextOf(code).text)),
    known.filter((code) => notOfMail.has(code)),
  );
});

test('a refusal by a setting or a clock names it', () => {
  for (const [code, name] of [
    ['date-too-old', 'messaging.maxMailAgeDays'],
    ['date-in-future', 'messaging.maxMailAheadHours'],
    ['DIRECT_SIGNATURE_NOT_ALLOWED', 'trust.acceptsSha1Signatures'],
    ['DIRECT_NOT_WRAPPED', 'trust.requiresWrapping'],
    ['PKI_POLICY_MISSING', 'trust.requiresDirectTrustPolicies'],
    ['PKI_SIGNATURE_ALGORITHM', 'trust.acceptsSha1Certificates'],
  ] as const)
    assert.ok(inboundTextOf(code).advice.includes(name), code);
});

test('a dead letter says which part of this service failed, and that it can be retried', () => {
  for (const [code, what] of [
    ['PLATFORM_STORAGE_UNAVAILABLE', /database/],
    ['PLATFORM_DISK_LOW', /disk/],
    ['PLATFORM_SEAL_KEY_UNKNOWN', /decrypted/],
    ['THREAD_LOST', /memory/],
    ['TRUST_KEY_UNUSABLE', /keys/],
  ] as const) {
    const { text, advice } = inboundTextOf(code);
    assert.match(text, what, code);
    assert.match(advice, /retry it/, code);
  }
  assert.match(inboundTextOf('PLATFORM_CONTENT_MISSING').advice, /backup/);
  assert.equal(inboundTextOf('ECONNRESET').text, ownFault);
});

test('a missing certificate is not an invalid one, and a hidden recipient is no bad format', () => {
  assert.match(inboundTextOf('DIRECT_SENDER_CERTIFICATE_MISSING').text, /does not contain/);
  assert.match(inboundTextOf('DIRECT_ENVELOPE_RECIPIENT_MISMATCH').text, /To and Cc fields/);
  assert.match(inboundTextOf('DIRECT_SENDER_AMBIGUOUS').text, /From and Sender/);
});

test('each kind of damage to signature and envelope has its words', () => {
  for (const [codes, words] of [
    [['SMIME_DIGEST_MISMATCH', 'SMIME_SIGNATURE_INVALID'], /changed after it was signed/],
    [['SMIME_TRAILING_DATA'], /added to it on its way/],
    [['SMIME_UNSIGNED_NOT_TEXT'], /outside its signature/],
    [
      [
        'SMIME_CMS_MALFORMED',
        'SMIME_ENCRYPTED_CONTENT_MISSING',
        'SMIME_SIGNED_CONTENT_MISSING',
        'SMIME_MULTIPART_SIGNED_MALFORMED',
        'SMIME_SIGNER_MALFORMED',
        'SMIME_TRANSFER_ENCODING_INVALID',
        'DIRECT_MESSAGE_MALFORMED',
        'DIRECT_ENCRYPTION_INVALID',
      ],
      /cut or damaged/,
    ],
    [['SMIME_CONTENT_TYPE_UNEXPECTED'], /not what its type says/],
    [
      ['MIME_TOO_DEEP', 'MIME_TOO_MANY_PARTS', 'SMIME_TOO_MANY_SIGNERS', 'SMIME_TOO_MANY_RECIPIENTS'],
      /more levels, parts/,
    ],
    [['DIRECT_NO_RECIPIENTS'], /name no recipient/],
    [['DIRECT_ENVELOPE_SENDER_MISMATCH'], /MAIL FROM/],
    [['SMIME_PARTLY_ENCRYPTED'], /another part that is not encrypted/],
    [
      [
        'SMIME_CONTENT_CIPHER_NOT_ALLOWED',
        'SMIME_CONTENT_CIPHER_UNSUPPORTED',
        'SMIME_KEY_MANAGEMENT_UNSUPPORTED',
      ],
      /encrypted with an algorithm/,
    ],
    [['SMIME_DIGEST_NOT_ALLOWED', 'SMIME_DIGEST_UNSUPPORTED'], /signed with a digest/],
    [
      [
        'SMIME_SIGNATURE_ALGORITHM_UNSUPPORTED',
        'SMIME_SIGNATURE_ALGORITHM_MISMATCH',
        'SMIME_ALGORITHM_PROTECTION_MISMATCH',
      ],
      /signed with an algorithm/,
    ],
    [['SMIME_SIGNER_KEY_NOT_ALLOWED'], /too weak/],
    [['SMIME_CERTIFICATES_MISSING', 'SMIME_SIGNER_CERTIFICATE_MISSING'], /does not contain the certificate/],
    [['SMIME_CERTIFICATE_MALFORMED'], /cannot be read/],
    [['SMIME_COMPRESSION_UNSUPPORTED', 'SMIME_COMPRESSED_TOO_LARGE'], /compressed|larger/],
    [
      [
        'SMIME_SIGNED_ATTRIBUTE_MISSING',
        'SMIME_SIGNED_ATTRIBUTE_DUPLICATE',
        'SMIME_SIGNED_ATTRIBUTES_STRIPPED',
        'SMIME_SIGNED_CONTENT_TYPE_MISMATCH',
      ],
      /vouches for/,
    ],
    [['SMIME_DECRYPTION_FAILED', 'DIRECT_UNKNOWN_RECIPIENT'], /not encrypted to a key of this service/],
    [['SMIME_NOT_ENCRYPTED'], /not an encrypted message/],
  ] as const)
    for (const code of codes) assert.match(inboundTextOf(code).text, words, code);
});
