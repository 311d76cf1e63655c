import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPeerKey } from '../../../test/peer-messages/peer-files.ts';
import {
  childAt,
  der,
  encodedBytes,
  readAsn1,
  readOid,
  readTime,
  setItems,
  type Asn1,
} from '../asn1/index.ts';
import { parseEntity } from '../mime/index.ts';
import { signCms, signEntity, signPieces, verifyEntity } from './index.ts';

const alice = readPeerKey('alice');
const at = new Date('2026-11-21T10:00:00.750Z');
const entity = Buffer.from('Content-Type: text/plain\r\n\r\nhello  \r\n\r\nno last line end', 'latin1');

test('AS-32: multipart/signed with exactly two parts, detached', () => {
  const signed = signEntity(entity, [alice], { at });
  const { contentType, parts } = parseEntity(signed);
  assert.equal(contentType.mediaType, 'multipart/signed');
  assert.equal(contentType.parameters.get('protocol'), 'application/pkcs7-signature');
  assert.equal(contentType.parameters.get('micalg'), 'sha-256');
  const [first, second, ...rest] = parts;
  assert.ok(first !== undefined && second !== undefined && rest.length === 0);
  assert.deepEqual(first.bytes, entity);
  assert.equal(second.contentType.mediaType, 'application/pkcs7-signature');
  assert.equal(second.contentType.parameters.get('name'), 'smime.p7s');
  assert.equal(second.transferEncoding, 'base64');
  assert.equal(second.disposition?.parameters.get('filename'), 'smime.p7s');
  assert.equal(childAt(childAt(signedDataOf(signed), 2), 0).end, childAt(signedDataOf(signed), 2).end);
});

test('AS-40: the boundary is short, without a colon, and new each time', () => {
  const boundaries = [0, 1].map(
    () => parseEntity(signEntity(entity, [alice], { at })).contentType.parameters.get('boundary') ?? '',
  );
  for (const boundary of boundaries) assert.match(boundary, /^[0-9A-Za-z'()+_,./=?-]{1,70}$/);
  assert.notEqual(boundaries[0], boundaries[1]);
});

test('AS-33: lines end in CRLF and are 7-bit', () => {
  const text = signEntity(entity, [alice], { at }).toString('latin1');
  assert.doesNotMatch(text, /[^\r]\n|\r[^\n]/);
  assert.match(text, /^[\r\n\t -~]*$/);
  assert.ok(text.split('\r\n').every((line) => line.length <= 78));
});

test('RFC 5652 §5.3, §11: three signed attributes in the order of DER', () => {
  const signer = childAt(childAt(signedDataOf(signEntity(entity, [alice], { at })), 4), 0);
  const attributes = childAt(signer, 3).children;
  const types = attributes.map((attribute) => readOid(childAt(attribute, 0)));
  assert.deepEqual(types.toSorted(), [
    '1.2.840.113549.1.9.3',
    '1.2.840.113549.1.9.4',
    '1.2.840.113549.1.9.5',
  ]);
  const encodings = attributes.map(encodedBytes);
  assert.deepEqual(encodings.toSorted(Buffer.compare), encodings);
  const time = attributes.find((attribute) => readOid(childAt(attribute, 0)).endsWith('.9.5'));
  assert.deepEqual(readTime(childAt(childAt(time ?? signer, 1), 0)), new Date('2026-11-21T10:00:00Z'));
});

test('AS-50: SHA-256 by default, in everything that names a digest', () => {
  const signedData = signedDataOf(signEntity(entity, [alice], { at }));
  const digests = setItems(childAt(signedData, 1)).map((algorithm) => readOid(childAt(algorithm, 0)));
  assert.deepEqual(digests, ['2.16.840.1.101.3.4.2.1']);
  const signer = childAt(childAt(signedData, 4), 0);
  assert.equal(readOid(childAt(childAt(signer, 2), 0)), '2.16.840.1.101.3.4.2.1');
  assert.equal(readOid(childAt(childAt(signer, 4), 0)), '1.2.840.113549.1.1.11');
});

test('every kind of key and digest verifies', () => {
  for (const name of ['alice', 'alice3072', 'alice4096', 'aliceEC', 'aliceEC384']) {
    for (const digest of ['sha256', 'sha384', 'sha512', undefined] as const) {
      const key = readPeerKey(name);
      const { signers } = verifyEntity(signEntity(entity, [key], { at, ...(digest && { digest }) }));
      const [signer] = signers;
      assert.ok(signer?.outcome === 'valid');
      assert.equal(signer.digestAlgorithm, digest ?? (name === 'aliceEC384' ? 'sha384' : 'sha256'));
      assert.equal(signer.certificate.fingerprint, key.certificate.fingerprint);
    }
  }
});

test('several keys give several signers, and each certificate once', () => {
  const keys = ['alice', 'aliceEC384'].map(readPeerKey);
  const signed = signEntity(entity, keys, {
    at,
    extraCertificates: [alice.certificate, readPeerKey('alphaCA').certificate],
  });
  assert.equal(parseEntity(signed).contentType.parameters.get('micalg'), 'sha-256,sha-384');
  const { signers, certificates } = verifyEntity(signed);
  assert.deepEqual(
    signers.map((signer) => (signer.outcome === 'valid' ? signer.digestAlgorithm : 'invalid')).toSorted(),
    ['sha256', 'sha384'],
  );
  assert.equal(certificates.length, 3);
});

test('pieces are signed as their concatenation and returned as they are', () => {
  const pieces = [entity.subarray(0, 10), entity.subarray(10)];
  const signed = signPieces(pieces, [alice], { at });
  assert.equal(signed[1], pieces[0]);
  assert.deepEqual(verifyEntity(Buffer.concat(signed)).entity, entity);
});

test('the structure is DER to the last byte', () => {
  readAsn1(signCms([entity], [alice, readPeerKey('aliceEC')], { at }), { strictDer: true });
});

function signedDataOf(signed: Uint8Array): Asn1 {
  const signature = parseEntity(signed).parts[1];
  const root = readAsn1(Buffer.from(Buffer.from(signature?.bodyBytes ?? []).toString('latin1'), 'base64'));
  assert.deepEqual(encodedBytes(childAt(root, 0)), der.oid('1.2.840.113549.1.7.2'));
  return childAt(childAt(root, 1), 0);
}
