import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { CodedError } from '../../src/core/index.ts';
import { parseEntity } from '../../src/lib/mime/index.ts';
import type { Certificate } from '../../src/lib/pki/index.ts';
import {
  decryptCms,
  decryptEntity,
  verifyCms,
  verifyEntity,
  type SignerResult,
} from '../../src/lib/smime/index.ts';
import { readPeerFile, readPeerKey } from '../peer-messages/peer-files.ts';

const folder = path.join(import.meta.dirname, 'corpus/cms');
const bob = readPeerKey('bob');
const keys = [bob, readPeerKey('bobEC')];
const signerKeys = new Set(
  ['alice', 'aliceEC', 'alice4096'].map((name) => keyOf(readPeerKey(name).certificate)),
);
const seedContent = Buffer.from('Content-Type: text/plain\r\n\r\nfuzz seed\r\n', 'latin1');
const payloads = new Map<string, Buffer>([
  ['signed-reference-agent-two.der', signedContentOf('from-ri/two-signers.eml')],
  ['enveloped-reference-agent.der', signedContentOf('from-ri/AES256-RSA_OAEP-SHA256.eml')],
]);

export interface Seed {
  readonly name: string;
  readonly bytes: Buffer;
}

export function readSeeds(): Seed[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.der'));
  return names.toSorted().map((name) => ({ name, bytes: readFileSync(path.join(folder, name)) }));
}

/** The code of the refusal, or `accepted`. Fails on anything that must never happen for any bytes. */
export function checkCms(seed: string, bytes: Uint8Array): string {
  try {
    if (seed.startsWith('enveloped')) checkEnvelope(bytes);
    else checkSigned(seed, bytes);
    return 'accepted';
  } catch (error) {
    assert.ok(error instanceof CodedError, `an error that is not ours: ${String(error)}`);
    return error.code;
  }
}

/** Content that is trusted is the content that was signed, by a key that signed it. */
function checkSigned(seed: string, bytes: Uint8Array): void {
  const expected = payloads.get(seed) ?? seedContent;
  const isOpaque = seed.includes('opaque');
  const { content, signers } = verifyCms(bytes, isOpaque ? {} : { content: expected });
  assert.ok(Buffer.concat(content).equals(expected), 'altered content was accepted');
  checkSigners(signers);
}

function checkEnvelope(bytes: Uint8Array): void {
  const { entity, signers } = verifyEntity(decryptCms(bytes, keys).content);
  // A whole envelope taken from another seed is genuine too.
  const genuine = [seedContent, ...payloads.values()];
  assert.ok(
    genuine.some((content) => content.equals(entity)),
    'altered content was accepted',
  );
  checkSigners(signers);
}

function checkSigners(signers: readonly SignerResult[]): void {
  const valid = signers.filter((signer) => signer.outcome === 'valid');
  assert.ok(valid.length > 0, 'accepted without a valid signer');
  for (const { certificate } of valid) {
    assert.ok(signerKeys.has(keyOf(certificate)), 'a signer who never signed');
  }
}

/** The numbers of the key: an altered certificate can spell the same key in another way. */
function keyOf({ publicKey }: Certificate): string {
  return JSON.stringify(publicKey.export({ format: 'jwk' }));
}

function signedContentOf(file: string): Buffer {
  const opened = decryptEntity(readPeerFile(file), [bob]);
  return Buffer.from(parseEntity(opened.content).parts[0]?.bytes ?? []);
}
