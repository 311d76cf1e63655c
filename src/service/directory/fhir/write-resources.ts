import { foldText } from '../../../core/index.ts';
import {
  keepText,
  type EntitySeed,
  type Envelope,
  type ProviderIndex,
  type RecordPainter,
  type RecordValues,
} from '../../../lib/provider-index/index.ts';
import type { AddressState, AddressStates } from '../verification/address-states.ts';
import { partsOfResources, plainText, readJsonRecords, type JsonRecord } from './json-records.ts';
import { personFields, type Beyond, type Resource, type ResourceMaker } from './make-resources.ts';
import { readOwnNpis } from './own-npis.ts';
import type { FoundResources } from './run-search.ts';
import { resourceTypes, type ResourceType } from './vocabulary.ts';

type Page = Pick<FoundResources, 'index' | 'rows' | 'distinct'>;

/** Writes the rows that a search found as resources. */
export interface ResourceWriter {
  /**
   * As entries of a bundle, with commas between them, in an envelope. `base` is the address of the FHIR
   * service.
   */
  entries(type: ResourceType, page: Page, base: string, envelope: Envelope): Uint8Array;
  /** One by one, with their references. */
  resources(type: ResourceType, page: Page): Resource[];
}

/** With `states` endpoints show the verification state of their addresses. */
export function createResourceWriter(
  make: ResourceMaker,
  seed: EntitySeed,
  states?: AddressStates,
): ResourceWriter {
  // Of the page that is written.
  let opening = keepText('');
  let persons: ReadonlyMap<number, readonly JsonRecord[]> = new Map();
  let npis: ReadonlyMap<number, readonly string[]> = new Map();
  let times: Uint32Array = new Uint32Array(0);
  let place = 0;
  // Of the record that is written.
  const beyond: { -readonly [Key in keyof Beyond]: Beyond[Key] } = {
    changedAt: 0,
    records: undefined,
    npis: undefined,
    state: undefined,
  };

  const painterOf = (type: ResourceType): RecordPainter => ({
    fields: partsOfResources[type].texts,
    seed,
    shapeOf(values) {
      beyond.changedAt = times[place++] as number;
      beyond.records = persons.size === 0 ? undefined : persons.get(values.id);
      beyond.npis = npis.size === 0 ? undefined : npis.get(values.id);
      beyond.state = stateOf(type, values);
      return make.shapeOf(type, values, beyond);
    },
    paint(pen, shape) {
      pen.putOther(() => opening);
      make.putId(type, pen);
      pen.put('","resource":');
      make.put(type, pen, beyond, shape);
      pen.put(',"search":{"mode":"match"}}');
    },
  });
  const painters = new Map(resourceTypes.map((type) => [type, painterOf(type)]));

  function stateOf(type: ResourceType, { text }: Pick<RecordValues, 'text'>): AddressState | undefined {
    if (type !== 'Endpoint' || states === undefined) return undefined;
    return states.read(states.slotOf(foldText(plainText(text('directAddress')))));
  }

  return {
    entries(type, { index, rows, distinct }, base, envelope) {
      opening = keepText(`{"fullUrl":"${JSON.stringify(base).slice(1, -1)}/${type}/`);
      persons = type === 'Practitioner' ? readPersons(index, rows) : new Map();
      npis = ownNpis(index, rows, distinct) ?? new Map();
      // Rows are painted in their order.
      times = timesOf(index, rows, distinct);
      place = 0;
      return index.paintRecords(rows, painters.get(type) as RecordPainter, envelope);
    },
    resources(type, { index, rows, distinct }) {
      const changes = timesOf(index, rows, distinct);
      const own = type === 'Practitioner' ? readPersons(index, rows) : undefined;
      const numbers = ownNpis(index, rows, distinct);
      return readJsonRecords(index, rows, partsOfResources[type])
        .map((record, at) =>
          make.make(type, record, {
            changedAt: changes[at] as number,
            records: own?.get(record.id),
            npis: numbers?.get(record.id),
            state: stateOf(type, { text: (field) => record[field] }),
          }),
        )
        .filter((resource) => resource !== undefined);
    },
  };
}

function ownNpis(
  index: ProviderIndex,
  rows: Uint32Array,
  distinct: Page['distinct'],
): ReadonlyMap<number, readonly string[]> | undefined {
  return distinct?.kind === 'organization' ? readOwnNpis(index, rows, distinct.entities) : undefined;
}

function timesOf(index: ProviderIndex, rows: Uint32Array, distinct: Page['distinct']): Uint32Array {
  return rows.map((row) => index.changedAt(row, distinct));
}

/**
 * For persons whose records name them differently: all that have a last name, keyed by the id of the record
 * that was found. Most persons with several records have one name and one specialty.
 */
function readPersons(index: ProviderIndex, rows: Uint32Array): Map<number, JsonRecord[]> {
  const several: (readonly [row: number, all: Uint32Array])[] = [];
  for (const row of rows) {
    const all = index.rowsOfPerson(row);
    if (all.length > 1 && !index.haveSameTexts(all, personFields)) several.push([row, all]);
  }
  const records = readJsonRecords(
    index,
    Uint32Array.from(several.flatMap(([, all]) => [...all])),
    partsOfResources.Practitioner,
  );
  const persons = new Map<number, JsonRecord[]>();
  let start = 0;
  for (const [row, all] of several) {
    const own = records.slice(start, start + all.length);
    start += all.length;
    const found = own[all.indexOf(row)] as JsonRecord;
    persons.set(
      found.id,
      own.filter(({ lastName }) => lastName !== ''),
    );
  }
  return persons;
}
