import { createHash, type Hash } from 'node:crypto';
import { hashInSlices } from '../../../core/index.ts';
import { Base64Content } from './parse-body.ts';

/**
 * Texts longer than this are hashed in slices, so that a large attachment does not hold up the event loop.
 */
const longTextLength = 500_000;

/**
 * SHA-256 over the JSON value in a canonical form, as hex: the order of members and the white space of the
 * text do not matter, everything else does (Decision 0009: M2). The client's id is part of it, so that equal
 * bodies of two clients do not look equal in the database.
 */
export async function hashRequest(clientId: string, body: unknown): Promise<string> {
  const hash = createHash('sha256');
  addText(hash, clientId);
  await addValue(hash, body);
  return hash.digest('hex');
}

async function addValue(hash: Hash, value: unknown): Promise<void> {
  if (typeof value === 'string') await addAnyText(hash, value);
  else if (value instanceof Base64Content) await addBytes(hash, value.text);
  else if (Array.isArray(value)) await addList(hash, value);
  else if (typeof value === 'object' && value !== null) await addObject(hash, value);
  else hash.update(`v${String(value)};`);
}

async function addAnyText(hash: Hash, text: string): Promise<void> {
  if (text.length <= longTextLength) return addText(hash, text);
  hash.update(`d${text.length}:`).update(await hashInSlices(Buffer.from(text, 'utf8')));
}

/** As the text that they are in ASCII. */
async function addBytes(hash: Hash, text: Uint8Array): Promise<void> {
  if (text.length <= longTextLength) hash.update(`s${text.length}:`).update(text);
  else hash.update(`d${text.length}:`).update(await hashInSlices(text));
}

// A length before each text keeps neighboring values apart.
function addText(hash: Hash, text: string): void {
  hash.update(`s${text.length}:`).update(text, 'utf8');
}

async function addList(hash: Hash, values: readonly unknown[]): Promise<void> {
  hash.update(`l${values.length}:`);
  for (const value of values) await addValue(hash, value);
}

async function addObject(hash: Hash, object: object): Promise<void> {
  const members = Object.entries(object).toSorted(([left], [right]) => (left < right ? -1 : 1));
  hash.update(`o${members.length}:`);
  for (const [name, value] of members) {
    addText(hash, name);
    await addValue(hash, value);
  }
}
