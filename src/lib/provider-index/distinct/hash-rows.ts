import type { TextField } from '../../provider-record/index.ts';
import type { ByteText } from '../json-output.ts';
import type { TextColumn } from '../text-column.ts';
import type { EntityHash, EntityKind, EntitySeed } from '../types.ts';
import { combine, entityFields, hashTextBytes, type MutableHash } from './entity-hash.ts';

/** A column and where the texts of some rows are in its values: start and end of each. */
interface LocatedColumn {
  readonly column: TextColumn;
  readonly values: ByteText;
  readonly span: Uint32Array;
}

/** Hashes of the entities of located rows. */
export interface EntityHashes {
  /** Valid until the next row; `at` is the row's place among the located ones. */
  hashOf(kind: EntityKind, row: number, at: number): EntityHash;
}

// The hash of an entity of the row that is written: most are needed twice.
interface HashedEntity {
  row: number;
  fields: readonly HashedField[] | undefined;
  readonly hash: MutableHash;
}

export function createEntityHashes(
  seed: EntitySeed,
  located: ReadonlyMap<TextField, LocatedColumn>,
): EntityHashes {
  const hashed = new Map<TextField, HashedField>();
  const entities: Readonly<Record<EntityKind, HashedEntity>> = {
    organization: { row: -1, fields: undefined, hash: { low: 0, high: 0 } },
    place: { row: -1, fields: undefined, hash: { low: 0, high: 0 } },
  };

  const fieldOf = (field: TextField): HashedField => {
    const column = located.get(field);
    if (column === undefined) throw new TypeError(`The painter did not name the field ${field}.`);
    const own = hashed.get(field) ?? createHashedField(field, column, seed);
    hashed.set(field, own);
    return own;
  };

  return {
    hashOf(kind, row, at) {
      const known = entities[kind];
      const { hash } = known;
      if (known.row === row) return hash;
      known.fields ??= entityFields[kind].map(fieldOf);
      known.row = row;
      hash.low = seed.low;
      hash.high = seed.high;
      for (let index = 0; index < known.fields.length; index++)
        (known.fields[index] as HashedField).addTo(hash, row, at);
      return hash;
    },
  };
}

interface HashedField {
  /** Combines the hash of a row's text into that of the entity; `at` is the row's place in the chunk. */
  addTo(entity: MutableHash, row: number, at: number): void;
}

// Hashes of texts that are kept per field, each in the slot of its group's lowest bits.
const hashSlots = 4096;

/** An organization and its place have most texts in common, and so have the rows of a page. */
function createHashedField(
  field: TextField,
  { column: { codes }, values, span }: LocatedColumn,
  seed: EntitySeed,
): HashedField {
  const groups = new Int32Array(hashSlots).fill(-1);
  const low = new Uint32Array(hashSlots);
  const high = new Uint32Array(hashSlots);
  const hash: MutableHash = { low: 0, high: 0 };
  return {
    addTo(entity, row, at) {
      const group = codes[row] as number;
      const slot = group & (hashSlots - 1);
      if (groups[slot] !== group) {
        hashTextBytes(values.bytes, span[at * 2] as number, span[at * 2 + 1] as number, field, seed, hash);
        groups[slot] = group;
        low[slot] = hash.low;
        high[slot] = hash.high;
      }
      combine(low[slot] as number, high[slot] as number, entity);
    },
  };
}
