import type { FoundPage, ProviderIndex } from '../../../lib/provider-index/index.ts';
import { npiPart, partsOfResources, readJsonRecords, type JsonRecord } from './json-records.ts';
import type { Resource, ResourceMaker } from './make-resources.ts';
import type { ResourceType } from './vocabulary.ts';

/** Writes what a search found as resources. */
export interface ResourceWriter {
  page(type: ResourceType, page: Pick<FoundPage, 'index' | 'rows'>): Resource[];
}

export function createResourceWriter(make: ResourceMaker): ResourceWriter {
  function one(type: Exclude<ResourceType, 'Practitioner'>, record: JsonRecord): Resource | undefined {
    switch (type) {
      case 'Endpoint':
        return make.endpoint(record);
      case 'PractitionerRole':
        return make.role(record);
      case 'Organization':
        return make.organization(record);
      case 'Location':
        return make.location(record);
    }
  }

  return {
    page(type, { index, rows }) {
      const part = partsOfResources[type];
      const made =
        type === 'Practitioner'
          ? readPersons(index, rows).map((own) => make.practitioner(own))
          : readJsonRecords(index, rows, part).map((record) => one(type, record));
      return made.filter((resource) => resource !== undefined);
    },
  };
}

/** For each row all records of the person, by id. */
function readPersons(index: ProviderIndex, rows: Uint32Array): JsonRecord[][] {
  const npis = readJsonRecords(index, rows, npiPart);
  const rowsOf = npis.map(({ npi }, at) => (npi === '' ? rows.subarray(at, at + 1) : index.findByNpi(npi)));
  const all = new Uint32Array(rowsOf.reduce((sum, own) => sum + own.length, 0));
  let end = 0;
  for (const own of rowsOf) {
    all.set(own, end);
    end += own.length;
  }
  const records = readJsonRecords(index, all, partsOfResources.Practitioner);
  let next = 0;
  return rowsOf.map(({ length }) => records.slice(next, (next += length)));
}
