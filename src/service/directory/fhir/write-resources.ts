import { keepText, type Envelope, type ProviderIndex } from '../../../lib/provider-index/index.ts';
import type { ProviderRecord } from '../../../lib/provider-record/index.ts';
import type { AddressStates } from '../verification/address-states.ts';
import { personFields, type Beyond, type Resource, type ResourceMaker } from './make-resources.ts';
import { readOwnNpis } from './own-npis.ts';
import type { FoundResources } from './run-search.ts';
import type { ResourceType } from './vocabulary.ts';

type Page = Pick<FoundResources, 'index' | 'rows' | 'distinct'>;

/** Writes the rows that a search found as resources. */
export interface ResourceWriter {
  /**
   * As entries of a bundle, with commas between them, in an envelope. `base` is the address of the FHIR
   * service.
   */
  entries(type: ResourceType, page: Page, base: string, envelope: Envelope): Uint8Array;
  /** One by one. */
  resources(type: ResourceType, page: Page): Resource[];
}

/** With `states` endpoints show the verification state of their addresses. */
export function createResourceWriter(make: ResourceMaker, states?: AddressStates): ResourceWriter {
  function beyondOf(type: ResourceType, { index, rows, distinct }: Page): Beyond[] {
    const persons = type === 'Practitioner' ? readPersons(index, rows) : undefined;
    const npis = ownNpis(index, rows, distinct);
    const stateOf = (row: number): Beyond['state'] =>
      type === 'Endpoint' ? states?.read(states.slotOf(index.addresses.addressOf(row))) : undefined;
    return Array.from(rows, (row) => ({
      changedAt: index.changedAt(row, distinct),
      records: persons?.get(row),
      npis: npis?.get(index.idOf(row)),
      state: stateOf(row),
    }));
  }

  return {
    entries(type, page, base, envelope) {
      const opening = keepText(`{"fullUrl":"${JSON.stringify(base).slice(1, -1)}/${type}/`);
      const beyond = beyondOf(type, page);
      return page.index.writeRecords(page.rows, make.entries[type], { opening, beyond }, envelope);
    },
    resources(type, page) {
      const beyond = beyondOf(type, page);
      return page.index
        .records(page.rows)
        .map((record, at) => make.make(type, record, beyond[at] as Beyond))
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

/**
 * For persons whose records name them differently: all that have a last name, keyed by the row that was
 * found. Most persons with several records have one name and one specialty.
 */
function readPersons(index: ProviderIndex, rows: Uint32Array): Map<number, ProviderRecord[]> {
  const persons = new Map<number, ProviderRecord[]>();
  for (const row of rows) {
    const all = index.rowsOfPerson(row);
    if (all.length < 2 || index.haveSameTexts(all, personFields)) continue;
    const named = index.records(all).filter(({ lastName }) => lastName !== '');
    persons.set(row, named);
  }
  return persons;
}
