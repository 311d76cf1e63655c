import { formatState, type AddressState, type AddressStates } from './verification/address-states.ts';
import {
  keepText,
  type ProviderIndex,
  type RecordFormat,
  type SearchResult,
} from '../../lib/provider-index/index.ts';
import { roundUpMiles } from '../../lib/geo/index.ts';
import { shownFields } from '../../lib/provider-record/index.ts';

type Page = Pick<SearchResult, 'rows' | 'distances'>;

interface WrittenPage extends Page {
  /** The verification state of each record's address, for requests with the parameter (Decision 0027). */
  readonly states?: readonly AddressState[];
}

const nothing = keepText('null');

/**
 * A provider record on the wire (Directory spec: Provider record), with a person's other names if there are
 * some; the distance stays the last field.
 */
const providerFormat: RecordFormat<WrittenPage> = (pen) => {
  const id = keepText('{"id":');
  const texts = shownFields.map(({ wireName, field }, at) => ({
    before: keepText(`${at === 0 ? '' : '"'},"${wireName}":"`),
    field: pen.field(field),
  }));
  const [otherNames, beforeOthers] = [pen.field('otherNames'), keepText('","prov_other_names":"')];
  const [latitude, longitude] = [keepText('","lat":'), keepText(',"lng":')];
  const [distance, end] = [keepText(',"distance":'), keepText('}')];
  // A record without coordinates has none to show: null, as the specification calls only the distance
  // non-null.
  const putCoordinate = (value: number | undefined): void =>
    value === undefined ? pen.put(nothing) : pen.putNumber(value);
  return (at, { states, distances }) => {
    pen.put(id);
    pen.putNumber(pen.id);
    for (const { before, field } of texts) {
      pen.put(before);
      field.put();
    }
    if (!otherNames.isBlank) {
      pen.put(beforeOthers);
      otherNames.put();
    }
    pen.put(latitude);
    putCoordinate(pen.latitude);
    pen.put(longitude);
    putCoordinate(pen.longitude);
    if (states !== undefined)
      pen.putText(`,"verification":${JSON.stringify(formatState(states[at] as AddressState))}`);
    if (distances !== undefined) {
      pen.put(distance);
      pen.putNumber(roundUpMiles(distances[at] as number));
    }
    pen.put(end);
  };
};

const opening = Buffer.from('{"status":"OK","providers":[');

/**
 * The JSON text of an answer (Directory spec: Response envelope). A search shows its total, which is text on
 * the wire.
 */
export function writeAnswer(index: ProviderIndex, page: WrittenPage, totalCount?: number): Uint8Array {
  const closing = totalCount === undefined ? ']}' : `],"totalCount":"${totalCount}"}`;
  return index.writeRecords(page.rows, providerFormat, page, {
    before: opening,
    after: Buffer.from(closing),
  });
}

/** The same with the verification state of each record's address. */
export function writeVerifiedAnswer(
  index: ProviderIndex,
  page: Page,
  totalCount: number,
  addresses: AddressStates,
): Uint8Array {
  const states = Array.from(page.rows, (row) =>
    addresses.read(addresses.slotOf(index.addresses.addressOf(row))),
  );
  return writeAnswer(index, { ...page, states }, totalCount);
}
