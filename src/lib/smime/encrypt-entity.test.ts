import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPeerKey } from '../../../test/peer-messages/peer-files.ts';
import { readAsn1 } from '../asn1/index.ts';
import { parseEntity } from '../mime/index.ts';
import { decryptCms, decryptEntity, encryptCms, encryptEntity } from './index.ts';

const bob = readPeerKey('bob');
const bob2 = readPeerKey('bob2');
const entity = Buffer.from('Content-Type: text/plain\r\n\r\nhello\r\n', 'latin1');

test('AS-31: application/pkcs7-mime with smime-type, name, disposition and base64', () => {
  const text = encryptEntity(entity, [bob]).toString('latin1');
  const parsed = parseEntity(Buffer.from(text, 'latin1'));
  assert.equal(parsed.contentType.mediaType, 'application/pkcs7-mime');
  assert.equal(parsed.contentType.parameters.get('smime-type'), 'enveloped-data');
  assert.equal(parsed.contentType.parameters.get('name'), 'smime.p7m');
  assert.deepEqual(
    [parsed.disposition?.value, parsed.disposition?.parameters.get('filename')],
    ['attachment', 'smime.p7m'],
  );
  assert.equal(parsed.transferEncoding, 'base64');
  const body = text.slice(text.indexOf('\r\n\r\n') + 4);
  assert.ok(body.split('\r\n').every((line) => line.length <= 76));
  assert.doesNotMatch(text, /[^\r]\n/);
});

test('AS-53, AS-57: AES-256-CBC and OAEP with SHA-256 by default', () => {
  const opened = decryptEntity(encryptEntity(entity, [bob]), [bob]);
  assert.equal(opened.contentAlgorithm, 'aes-256-cbc');
  assert.equal(opened.keyTransport, 'oaep-sha256');
  assert.deepEqual(opened.content, entity);
});

test('each recipient can have its own key transport', () => {
  for (const keyTransport of ['oaep-sha256', 'oaep-sha1', 'pkcs1'] as const) {
    const sealed = encryptEntity(entity, [bob2, { ...bob, keyTransport }]);
    assert.equal(decryptEntity(sealed, [bob]).keyTransport, keyTransport);
    assert.equal(decryptEntity(sealed, [bob2]).keyTransport, 'oaep-sha256');
  }
});

test('AS-41, AS-43: one envelope with a RecipientInfo per certificate, each of which opens it', () => {
  const sealed = encryptEntity(entity, [bob, bob2, readPeerKey('beta-org')]);
  for (const key of [bob, bob2, readPeerKey('beta-org')]) {
    const opened = decryptEntity(sealed, [key]);
    assert.equal(opened.recipients.length, 3);
    assert.equal(opened.key, key);
    assert.deepEqual(opened.content, entity);
  }
});

test('the same content never gives the same bytes', () => {
  assert.notDeepEqual(encryptCms([entity], [bob]), encryptCms([entity], [bob]));
});

test('content of any length comes back, in pieces or whole', () => {
  for (const size of [0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 400_000]) {
    const content = Buffer.alloc(size, 'payload');
    const pieces = [content.subarray(0, size >> 1), content.subarray(size >> 1)];
    for (const contentCipher of [
      'aes-128-cbc',
      'aes-192-cbc',
      'aes-256-cbc',
      'aes-128-gcm',
      'aes-192-gcm',
      'aes-256-gcm',
    ] as const) {
      const cms = encryptCms(pieces, [bob], { contentCipher });
      readAsn1(cms, { strictDer: true });
      const opened = decryptCms(cms, [bob]);
      assert.equal(opened.contentAlgorithm, contentCipher);
      assert.ok(opened.content.equals(content), `${contentCipher}, ${size} bytes`);
    }
  }
});

test('AS-54: GCM is labeled as authEnveloped-data', () => {
  const sealed = encryptEntity(entity, [bob], { contentCipher: 'aes-256-gcm' });
  assert.equal(parseEntity(sealed).contentType.parameters.get('smime-type'), 'authEnveloped-data');
  assert.deepEqual(decryptEntity(sealed, [bob]).content, entity);
});

test('the prefix stands before the header fields, so that a message needs no second copy', () => {
  const prefix = Buffer.from('MIME-Version: 1.0\r\nFrom: alice@direct.alpha.example\r\n', 'latin1');
  const message = parseEntity(encryptEntity(entity, [bob], { prefix }));
  assert.equal(message.header('from'), 'alice@direct.alpha.example');
  assert.deepEqual(decryptEntity(message, [bob]).content, entity);
});
