import { createHash, type Hash } from 'node:crypto';

/**
 * SHA-256 over the JSON value in a canonical form, as hex: the order of members and the white space of the text do not
 * matter, everything else does (Decision 0009: M2). The client's id is part of it, so that equal bodies of two clients
 * do not look equal in the database.
 */
export function hashRequest(clientId: string, body: unknown): string {
  const hash = createHash('sha256');
  addText(hash, clientId);
  addValue(hash, body);
  return hash.digest('hex');
}

function addValue(hash: Hash, value: unknown): void {
  if (typeof value === 'string') addText(hash, value);
  else if (Array.isArray(value)) addList(hash, value);
  else if (typeof value === 'object' && value !== null) addObject(hash, value);
  else hash.update(`v${String(value)};`);
}

// A length before each text keeps neighbouring values apart.
function addText(hash: Hash, text: string): void {
  hash.update(`s${text.length}:`).update(text, 'utf8');
}

function addList(hash: Hash, values: readonly unknown[]): void {
  hash.update(`l${values.length}:`);
  for (const value of values) addValue(hash, value);
}

function addObject(hash: Hash, object: object): void {
  const members = Object.entries(object).toSorted(([left], [right]) => (left < right ? -1 : 1));
  hash.update(`o${members.length}:`);
  for (const [name, value] of members) {
    addText(hash, name);
    addValue(hash, value);
  }
}
