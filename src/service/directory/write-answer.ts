import type { ProviderIndex, RecordFormat, SearchResult } from '../../lib/provider-index/index.ts';
import { providerFields } from '../../lib/provider-record/index.ts';

/** A provider record on the wire (Directory spec: Provider record). */
const providerFormat: RecordFormat = {
  values: [
    ['{"id":', 'id'],
    ...providerFields.map(
      ({ wireName, field }, at) => [`${at === 0 ? '' : '"'},"${wireName}":"`, field] as const,
    ),
    ['","lat":', 'latitude'],
    [',"lng":', 'longitude'],
  ],
  distance: ',"distance":',
  after: '}',
};

const opening = Buffer.from('{"status":"OK","providers":[');

/** The JSON text of an answer (Directory spec: Response envelope). A search shows its total, which is text on the wire. */
export function writeAnswer(
  index: ProviderIndex,
  page: Pick<SearchResult, 'rows' | 'distances'>,
  totalCount?: number,
): Uint8Array {
  const closing = totalCount === undefined ? ']}' : `],"totalCount":"${totalCount}"}`;
  return Buffer.concat([opening, index.writeRecords(page, providerFormat), Buffer.from(closing)]);
}
