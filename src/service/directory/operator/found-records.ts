import type { FoundPage, ProviderQuery } from '../../../lib/provider-index/index.ts';
import { shownFields, type WireName } from '../../../lib/provider-record/index.ts';
import type { AddressState, AddressStates } from '../verification/address-states.ts';
import { writeAnswer } from '../write-answer.ts';

/** A record of a page, for an operator. */
export interface FoundRecord {
  readonly id: number;
  readonly values: Readonly<Record<WireName, string>>;
  /** Absent without one. */
  readonly otherNames?: string;
  readonly lat: number | null;
  readonly lng: number | null;
  /** Miles from the center; null without a radius. */
  readonly distance: number | null;
  /** Absent if nothing is known of any address. */
  readonly state?: AddressState;
}

/** A page of a search, for an operator. */
export interface FoundRecords {
  readonly records: readonly FoundRecord[];
  readonly totalCount: number;
  readonly offset: number;
  readonly limit: number;
  /** The search area, if there is one. */
  readonly radius: ProviderQuery['radius'];
}

type WireRecord = Readonly<Record<WireName, string>> &
  Omit<FoundRecord, 'values' | 'state' | 'otherNames'> & { readonly prov_other_names?: string };

/** Reads a page as the native API writes it, so that an operator sees the same fields as clients. */
export async function readFoundPage(
  query: ProviderQuery,
  { index, rows, distances, totalCount }: FoundPage,
  states: AddressStates | undefined,
): Promise<FoundRecords> {
  await states?.refresh();
  const page = { rows, ...(distances && { distances }) };
  const { providers } = JSON.parse(Buffer.from(writeAnswer(index, page)).toString()) as {
    readonly providers: readonly WireRecord[];
  };
  const records = providers.map((record, at): FoundRecord => {
    const values = Object.fromEntries(shownFields.map(({ wireName }) => [wireName, record[wireName]]));
    const address = states && index.addresses.addressOf(rows[at] as number);
    return {
      id: record.id,
      values: values as Record<WireName, string>,
      ...(record.prov_other_names !== undefined && { otherNames: record.prov_other_names }),
      lat: record.lat ?? null,
      lng: record.lng ?? null,
      distance: query.radius === undefined ? null : (record.distance ?? null),
      ...(states && address !== undefined && { state: states.read(states.slotOf(address)) }),
    };
  });
  return { records, totalCount, offset: query.offset, limit: query.limit, radius: query.radius };
}
