import type { Envelope } from '../../../lib/provider-index/index.ts';
import type { OperationOutcome } from './outcome.ts';
import type { Resource } from './make-resources.ts';
import type { ParsedSearch, SentParameters } from './parse-search.ts';
import type { ResourceType } from './vocabulary.ts';

export interface BundleContent {
  readonly total: number;
  readonly found: number;
  /** Writes the entries of the found resources, with commas between them, in an envelope. */
  readonly writeFound: (envelope: Envelope) => Uint8Array;
  readonly included: readonly Resource[];
  readonly outcome: OperationOutcome | undefined;
}

/**
 * The answer to a search as UTF-8 JSON text. `base` is the address of the FHIR service, without a slash at
 * its end.
 */
export function makeBundle(
  base: string,
  type: ResourceType,
  { used, offset, count }: ParsedSearch,
  { total, found, writeFound, included, outcome }: BundleContent,
): Uint8Array {
  const linkTo = (place: number): string => {
    const parameters: SentParameters = place === 0 ? used : [...used, ['_offset', String(place)]];
    const query = new URLSearchParams(
      parameters.map(([name, value]): [string, string] => [name, value]),
    ).toString();
    return `${base}/${type}${query === '' ? '' : `?${query}`}`;
  };
  const server = JSON.stringify(base).slice(1, -1);
  const entry = ({ type: kind, id, json }: Resource): string =>
    `{"fullUrl":"${server}/${kind}/${id}","resource":${json},"search":{"mode":"include"}}`;
  const next = offset + count;
  const link = [
    { relation: 'self', url: linkTo(offset) },
    ...(count > 0 && next < total ? [{ relation: 'next', url: linkTo(next) }] : []),
  ];
  const others = [
    ...included.map(entry),
    ...(outcome === undefined ? [] : [JSON.stringify({ resource: outcome, search: { mode: 'outcome' } })]),
  ];
  const head = `{"resourceType":"Bundle","type":"searchset","total":${total},"link":${JSON.stringify(link)}`;
  if (found === 0 && others.length === 0) return Buffer.from(`${head}}`);
  const between = found > 0 && others.length > 0 ? ',' : '';
  return writeFound({
    before: Buffer.from(`${head},"entry":[`),
    after: Buffer.from(`${between}${others.join(',')}]}`),
  });
}
