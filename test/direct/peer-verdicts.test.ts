/** The messages of independent implementations, judged as the index next to them expects (peers: OpenSSL and the Java reference implementation). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DirectError, openMessage, verifySender } from '../../src/lib/direct/index.ts';
import { readMdnOrDsn } from '../../src/lib/mdn/index.ts';
import { parseEntity } from '../../src/lib/mime/index.ts';
import { readCertificate, readPrivateKey, type Certificate } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { readPeerFile } from '../peer-messages/peer-files.ts';
import { refusedWith } from './support/refusals.ts';

interface InboundCase {
  readonly file: string;
  readonly name: string;
  readonly recipientKey: string;
  readonly recipientCert: string;
  readonly anchors: readonly string[];
  readonly intermediate?: string;
  readonly mailFrom?: string;
  readonly rcptTo?: readonly string[];
  readonly expected: 'accept' | 'reject' | 'either';
}

interface Index {
  readonly sender: string;
  readonly recipient: string;
  readonly inbound: readonly InboundCase[];
  readonly fromRi: readonly {
    readonly file: string;
    readonly plain: string;
    readonly options: readonly string[];
  }[];
}

const index = JSON.parse(readPeerFile('cases.json').toString('utf8')) as Index;
// All certificates of the set are valid from 21 November 2026 to 2031.
const at = new Date('2027-01-01T00:00:00Z');
const certificate = (name: string): Certificate => readCertificate(readPeerFile(name));
const keyOf = (cert: string, key: string) => ({
  certificate: certificate(cert),
  privateKey: readPrivateKey(readPeerFile(key)),
});

/** The project's verdicts under its default policy, with reasons; also where the index leaves the verdict open. */
const reasons: Readonly<Record<string, string>> = {
  '05': 'SMIME_CONTENT_CIPHER_NOT_ALLOWED',
  '17': 'SMIME_DIGEST_NOT_ALLOWED',
  '29': 'SMIME_SIGNER_KEY_NOT_ALLOWED',
  '37': 'DIRECT_SENDER_SIGNATURE_MISSING',
  '39': 'PKI_EXTENDED_KEY_USAGE',
  '41': 'PKI_END_ENTITY_IS_CA',
  '43': 'PKI_ISSUER_NOT_FOUND',
  '49': 'PKI_ISSUER_NOT_CA',
  '51': 'SMIME_NOT_SIGNED',
  '53': 'SMIME_NOT_ENCRYPTED',
  '55': 'SMIME_DIGEST_MISMATCH',
  '57': 'DIRECT_ENVELOPE_RECIPIENT_MISMATCH',
  '67': 'DIRECT_ENVELOPE_RECIPIENT_MISMATCH',
  '69': 'SMIME_MULTIPART_SIGNED_MALFORMED',
  '71': 'PKI_END_ENTITY_IS_CA',
};

describe('messages of peers', () => {
  for (const one of index.inbound) {
    const reason = reasons[/inbound\/(\d\d)/.exec(one.file)?.[1] ?? ''];
    test(`${one.name}: expected ${one.expected}, answered ${reason ?? 'accept'}`, async () => {
      const answer = await judge(one);
      assert.equal(answer, reason ?? 'accept');
      if (one.expected !== 'either') assert.equal(answer === 'accept' ? 'accept' : 'reject', one.expected);
    });
  }

  for (const [file, code] of [
    ['inbound/05', 'DIRECT_ENCRYPTION_NOT_ALLOWED'],
    ['inbound/17', 'DIRECT_SIGNATURE_NOT_ALLOWED'],
  ] as const)
    test(`algorithms that are not allowed: ${code}`, async () => {
      const weak = index.inbound.find((one) => one.file.startsWith(file));
      assert.ok(weak);
      const keys = [keyOf(weak.recipientCert, weak.recipientKey)];
      await refusedWith(code, () => openMessage({ message: readPeerFile(weak.file), keys }));
    });

  async function judge(one: InboundCase): Promise<string> {
    try {
      const opened = openMessage({
        message: readPeerFile(one.file),
        keys: [keyOf(one.recipientCert, one.recipientKey)],
      });
      const recipients = (one.rcptTo ?? [index.recipient]).map(parseDirectAddress);
      const { sender } = await verifySender(
        opened,
        { mailFrom: one.mailFrom ?? index.sender, recipients },
        {
          at,
          anchors: one.anchors.map(certificate),
          candidates: one.intermediate ? [certificate(one.intermediate)] : [],
        },
      );
      assert.equal(sender, index.sender);
      return 'accept';
    } catch (error) {
      if (error instanceof DirectError) return error.reason;
      throw error;
    }
  }

  for (const { file, plain, options } of index.fromRi) {
    test(`${file} comes out as it went in, from a verified sender`, async () => {
      const recipient = `pki/${options[options.indexOf('--recipient-cert') + 1] ?? ''}`;
      const opened = openMessage({
        message: readPeerFile(file),
        keys: [keyOf(recipient, recipient.replace('.pem', '.key'))],
      });
      assert.deepEqual(Buffer.from(opened.inner), readPeerFile(plain));
      const { sender } = await verifySender(opened, undefined, {
        at,
        anchors: [certificate('pki/alphaCA.pem')],
      });
      assert.equal(sender, index.sender);
    });
  }

  test("the peer's own MDNs are read as MDNs", () => {
    for (const name of ['mdn-processed', 'mdn-deleted', 'mdn-failed']) {
      assert.equal(readMdnOrDsn(parseEntity(readPeerFile(`from-ri/${name}.eml`)))?.kind, 'mdn', name);
    }
  });
});
