import { createHash, createHmac } from 'node:crypto';
import { equalSecrets } from '../../core/index.ts';
import { childAt, readOctetString, readOid, readSmallInteger, type Asn1 } from '../asn1/index.ts';
import { PkiError } from './errors.ts';
import { maxIterations } from './pbes2.ts';

interface Digest {
  readonly name: string;
  readonly outputBytes: number;
  readonly blockBytes: number;
}

const digests: Readonly<Record<string, Digest>> = {
  '2.16.840.1.101.3.4.2.1': { name: 'sha256', outputBytes: 32, blockBytes: 64 },
  '2.16.840.1.101.3.4.2.2': { name: 'sha384', outputBytes: 48, blockBytes: 128 },
  '2.16.840.1.101.3.4.2.3': { name: 'sha512', outputBytes: 64, blockBytes: 128 },
};

/**
 * Checks the MacData over the contents (PKCS #12 version 1.1, appendix B). Errors: `PKI_PKCS12_PASSWORD`,
 * `PKI_PKCS12_UNSUPPORTED` for SHA-1 and unknown digests.
 */
export function verifyMac(macData: Asn1, contents: Uint8Array, password: string): void {
  const digestInfo = childAt(macData, 0);
  const digest = digests[readOid(childAt(childAt(digestInfo, 0), 0))];
  const count = macData.children[2] === undefined ? 1 : readSmallInteger(macData.children[2]);
  if (digest === undefined || count < 1 || count > maxIterations) {
    throw new PkiError('PKI_PKCS12_UNSUPPORTED', 'PKCS#12 with a check that is not read here');
  }
  const key = deriveMacKey(digest, password, { salt: readOctetString(childAt(macData, 1)), count });
  const wanted = createHmac(digest.name, key).update(contents).digest();
  if (!equalSecrets(wanted, readOctetString(childAt(digestInfo, 1)))) {
    throw new PkiError('PKI_PKCS12_PASSWORD', 'the password does not match the file');
  }
}

/**
 * PKCS #12 appendix B.2 with ID 3; the key has the length of one output, so that one iteration of the outer
 * loop suffices.
 */
function deriveMacKey(
  digest: Digest,
  password: string,
  { salt, count }: { salt: Uint8Array; count: number },
): Buffer {
  const filled = (bytes: Uint8Array): Buffer => {
    const length = Math.ceil(bytes.length / digest.blockBytes) * digest.blockBytes;
    return bytes.length === 0 ? Buffer.alloc(0) : Buffer.alloc(length, bytes);
  };
  // A BMPString with its closing zero (PKCS #12 appendix B.1).
  const text = Buffer.from(`${password}\0`, 'utf16le').swap16();
  let block = Buffer.concat([Buffer.alloc(digest.blockBytes, 3), filled(salt), filled(text)]);
  for (let round = 0; round < count; round++) block = createHash(digest.name).update(block).digest();
  return block.subarray(0, digest.outputBytes);
}
