import { foldText } from '../../../core/index.ts';
import type {
  EntitySeed,
  FoundPage,
  ProviderIndex,
  RecordPainter,
  RecordPen,
} from '../../../lib/provider-index/index.ts';
import type { AddressState, AddressStates } from '../verification/address-states.ts';
import { partsOfResources, plainText, readJsonRecords, type JsonRecord } from './json-records.ts';
import type { Resource, ResourceMaker } from './make-resources.ts';
import { resourceTypes, type ResourceType } from './vocabulary.ts';

type Page = Pick<FoundPage, 'index' | 'rows'>;

/** Writes what a search found as resources. */
export interface ResourceWriter {
  /** As entries of a bundle, with commas between them. `base` is the address of the FHIR service. */
  entries(type: ResourceType, page: Page, base: string): Uint8Array;
  /** One by one, with their references. */
  resources(type: ResourceType, page: Page): Resource[];
}

/** With `states` endpoints show what is known of their addresses. */
export function createResourceWriter(
  make: ResourceMaker,
  seed: EntitySeed,
  states?: AddressStates,
): ResourceWriter {
  // Of the page that is written.
  let opening = '';
  let persons: ReadonlyMap<number, readonly JsonRecord[]> = new Map();

  const painterOf = (type: ResourceType): RecordPainter => ({
    fields: partsOfResources[type].texts,
    seed,
    paint(pen) {
      pen.putText(opening);
      make.putId(type, pen);
      pen.put('","resource":');
      make.put(type, pen, { records: persons.get(pen.id), state: stateOf(type, pen) });
      pen.put(',"search":{"mode":"match"}}');
    },
  });
  const painters = new Map(resourceTypes.map((type) => [type, painterOf(type)]));

  function stateOf(type: ResourceType, { text }: Pick<RecordPen, 'text'>): AddressState | undefined {
    if (type !== 'Endpoint' || states === undefined) return undefined;
    return states.read(states.slotOf(foldText(plainText(text('directAddress')))));
  }

  return {
    entries(type, { index, rows }, base) {
      opening = `{"fullUrl":"${JSON.stringify(base).slice(1, -1)}/${type}/`;
      persons = type === 'Practitioner' ? readPersons(index, rows) : new Map();
      return index.paintRecords(rows, painters.get(type) as RecordPainter);
    },
    resources(type, { index, rows }) {
      const own = type === 'Practitioner' ? readPersons(index, rows) : undefined;
      return readJsonRecords(index, rows, partsOfResources[type])
        .map((record) =>
          make.make(type, record, {
            records: own?.get(record.id),
            state: stateOf(type, { text: (field) => record[field] }),
          }),
        )
        .filter((resource) => resource !== undefined);
    },
  };
}

/** Of persons with several records all that have a last name, by id; keyed by the id of the record that was found. */
function readPersons(index: ProviderIndex, rows: Uint32Array): Map<number, JsonRecord[]> {
  const several: (readonly [row: number, all: Uint32Array])[] = [];
  for (const row of rows) {
    const all = index.rowsOfPerson(row);
    if (all.length > 1) several.push([row, all]);
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
