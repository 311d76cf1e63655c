import type { AddressState, AddressStates } from './verification/address-states.ts';
import type { ProviderIndex, RecordFormat, SearchResult } from '../../lib/provider-index/index.ts';
import { roundUpMiles } from '../../lib/geo/index.ts';
import { shownFields } from '../../lib/provider-record/index.ts';

/** A provider record on the wire (Directory spec: Provider record). */
const providerFormat: RecordFormat = {
  values: [
    ['{"id":', 'id'],
    ...shownFields.map(
      ({ wireName, field }, at) => [`${at === 0 ? '' : '"'},"${wireName}":"`, field] as const,
    ),
    ['","lat":', 'latitude'],
    [',"lng":', 'longitude'],
  ],
  distance: ',"distance":',
  after: '}',
};

/** The same, up to the verification state of its address and the distance, which stays the last field. */
const unfinishedFormat: RecordFormat = { ...providerFormat, after: '' };

const opening = Buffer.from('{"status":"OK","providers":[');

/**
 * The JSON text of an answer (Directory spec: Response envelope). A search shows its total, which is text on
 * the wire.
 */
export function writeAnswer(
  index: ProviderIndex,
  page: Pick<SearchResult, 'rows' | 'distances'>,
  totalCount?: number,
): Uint8Array {
  const closing = totalCount === undefined ? ']}' : `],"totalCount":"${totalCount}"}`;
  return index.writeRecords(page, providerFormat, { before: opening, after: Buffer.from(closing) });
}

/**
 * The same with the verification state of each record's address, for requests with the parameter
 * (Decision 0027).
 */
export function writeVerifiedAnswer(
  index: ProviderIndex,
  { rows, distances }: Pick<SearchResult, 'rows' | 'distances'>,
  totalCount: number,
  states: AddressStates,
): Uint8Array {
  const chunks: Uint8Array[] = [opening];
  for (const [at, row] of rows.entries()) {
    const distance = distances?.[at];
    const known = formatState(states.read(states.slotOf(index.addresses.addressOf(row))));
    chunks.push(
      Buffer.from(at === 0 ? '' : ','),
      // A writer reuses its memory.
      Uint8Array.from(index.writeRecords({ rows: rows.subarray(at, at + 1) }, unfinishedFormat)),
      Buffer.from(`,"verification":${JSON.stringify(known)}`),
      Buffer.from(distance === undefined ? '}' : `,"distance":${roundUpMiles(distance)}}`),
    );
  }
  return Buffer.concat([...chunks, Buffer.from(`],"totalCount":"${totalCount}"}`)]);
}

/** Verification state of an address, on the wire. */
export function formatState({ state, reason, checkedAt, processedMonth }: AddressState) {
  return {
    state,
    reason,
    checkedTime: checkedAt?.toISOString() ?? null,
    lastProcessedMonth: processedMonth ?? null,
  };
}
