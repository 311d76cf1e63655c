import { randomBytes } from 'node:crypto';
import { concatBytes } from '../../core/index.ts';
import { base64LinesLength, writeBase64Lines } from '../mime/index.ts';
import { digestsFor, signCms, type SigningKey, type SignOptions } from './sign-cms.ts';
import { piecesOf, type Pieces } from './structure.ts';

const micalgNames = { sha256: 'sha-256', sha384: 'sha-384', sha512: 'sha-512' } as const;

/**
 * A multipart/signed MIME entity, header fields and body, with CRLF line ends (RFC 8551 §3.5.3, AS-32). The
 * entity is signed and emitted byte for byte as given: it must be a whole MIME entity in canonical form
 * already (AS-33).
 *
 * Errors: those of `signCms`.
 */
export function signEntity(entity: Uint8Array, keys: readonly SigningKey[], options: SignOptions): Buffer {
  return concatBytes(signPieces(entity, keys, options));
}

/**
 * The same without joining: the given pieces stand among the returned ones, so that nothing large is copied.
 */
export function signPieces(
  entity: Uint8Array | Pieces,
  keys: readonly SigningKey[],
  options: SignOptions,
): Uint8Array[] {
  const content = piecesOf(entity);
  const signature = signCms(content, keys, options);
  const micalg = [...new Set(digestsFor(keys, options))].map((digest) => micalgNames[digest]).join(',');
  // Random, so that the content cannot contain it; 41 characters, none of them a colon (AS-40).
  const boundary = `=_signed_${randomBytes(16).toString('hex')}`;
  return [writeHead(boundary, micalg), ...content, writeTail(boundary, signature)];
}

function writeHead(boundary: string, micalg: string): Buffer {
  const micalgValue = micalg.includes(',') ? `"${micalg}"` : micalg;
  return Buffer.from(
    `Content-Type: multipart/signed; protocol="application/pkcs7-signature";\r\n micalg=${micalgValue}; boundary="${boundary}"\r\n` +
      `\r\n--${boundary}\r\n`,
    'latin1',
  );
}

function writeTail(boundary: string, signature: Uint8Array): Buffer {
  const head =
    `\r\n--${boundary}\r\n` +
    'Content-Type: application/pkcs7-signature; name=smime.p7s\r\n' +
    'Content-Transfer-Encoding: base64\r\n' +
    'Content-Disposition: attachment; filename=smime.p7s\r\n\r\n';
  const end = `--${boundary}--\r\n`;
  const target = Buffer.allocUnsafe(head.length + base64LinesLength(signature.length) + end.length);
  const signatureEnd = writeBase64Lines(signature, target, target.write(head, 'latin1'));
  target.write(end, signatureEnd, 'latin1');
  return target;
}
