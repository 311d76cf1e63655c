/** A representation of provider records for tests: the names inside, in the order of the fields. */
import { textFields } from '../../src/lib/provider-record/index.ts';
import {
  type ProviderIndex,
  type RecordFormat,
  type SearchResult,
} from '../../src/lib/provider-index/index.ts';

export const plainFormat: RecordFormat = {
  values: [
    ['{"id":', 'id'],
    ...textFields.map((field, at) => [`${at === 0 ? '' : '"'},"${field}":"`, field] as const),
    ['","latitude":', 'latitude'],
    [',"longitude":', 'longitude'],
  ],
  distance: ',"distance":',
  after: '}',
};

/** The page as a JSON array. */
export function writeJson(index: ProviderIndex, page: Pick<SearchResult, 'rows' | 'distances'>): string {
  return `[${Buffer.from(index.writeRecords(page, plainFormat)).toString()}]`;
}
