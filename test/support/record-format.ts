/** A representation of provider records for tests: the names inside, in the order of the fields. */
import { textFields } from '../../src/lib/provider-record/index.ts';
import { roundUpMiles } from '../../src/lib/geo/index.ts';
import {
  keepText,
  type ProviderIndex,
  type RecordFormat,
  type SearchResult,
} from '../../src/lib/provider-index/index.ts';

type Page = Pick<SearchResult, 'rows' | 'distances'>;

export const plainFormat: RecordFormat<Page> = (pen) => {
  const [opening, closing, nothing] = [keepText('{"id":'), keepText('}'), keepText('null')];
  const texts = textFields.map((field, at) => ({
    before: keepText(`${at === 0 ? '' : '"'},"${field}":"`),
    field: pen.field(field),
  }));
  const [latitude, longitude] = [keepText('","latitude":'), keepText(',"longitude":')];
  const distance = keepText(',"distance":');
  const putNumber = (value: number | undefined): void =>
    value === undefined ? pen.put(nothing) : pen.putNumber(value);
  return (at, { distances }) => {
    pen.put(opening);
    pen.putNumber(pen.id);
    for (const { before, field } of texts) {
      pen.put(before);
      field.put();
    }
    pen.put(latitude);
    putNumber(pen.latitude);
    pen.put(longitude);
    putNumber(pen.longitude);
    if (distances !== undefined) {
      pen.put(distance);
      pen.putNumber(roundUpMiles(distances[at] as number));
    }
    pen.put(closing);
  };
};

/** The page as a JSON array. */
export function writeJson(index: ProviderIndex, page: Page): string {
  return `[${Buffer.from(index.writeRecords(page.rows, plainFormat, page)).toString()}]`;
}
