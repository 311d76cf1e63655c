import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultMimeLimits } from '../mime/index.ts';
import { announcesEnvelope } from './index.ts';

const header = (...lines: readonly string[]): Buffer => Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
const enveloped = 'Content-Type: application/pkcs7-mime; smime-type=enveloped-data';

test('AS-71: a header announces an encrypted message by media type, or by the name of a file without a telling type', () => {
  assert.equal(announcesEnvelope(header(enveloped)), true);
  assert.equal(announcesEnvelope(header('Content-Type: application/x-pkcs7-mime')), true);
  assert.equal(announcesEnvelope(header('Content-Type: application/octet-stream; name="smime.P7M"')), true);
  assert.equal(
    announcesEnvelope(header('Content-Type: application/pkcs7-mime; smime-type=Signed-Data')),
    false,
  );
  assert.equal(announcesEnvelope(header('Content-Type: text/plain')), false);
});

test('AS-71: a header that cannot be read announces none, and is no fault of the program', () => {
  const filler = `X-Filler: ${'x'.repeat(900)}`;
  const count = Math.ceil(defaultMimeLimits.maxHeaderBytes / 900) + 1;
  const large = header(enveloped, ...Array.from({ length: count }, () => filler));
  assert.equal(announcesEnvelope(large), false);
});
