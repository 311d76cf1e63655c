import type { OperationOutcome } from './outcome.ts';
import type { Resource } from './make-resources.ts';
import type { ParsedSearch, SentParameters } from './parse-search.ts';
import type { ResourceType } from './vocabulary.ts';

export interface BundleContent {
  readonly total: number;
  readonly found: readonly Resource[];
  readonly included: readonly Resource[];
  readonly outcome: OperationOutcome | undefined;
}

/** The answer to a search as JSON text. `base` is the address of the FHIR service, without a slash at its end. */
export function makeBundle(
  base: string,
  type: ResourceType,
  { used, offset, count }: ParsedSearch,
  { total, found, included, outcome }: BundleContent,
): string {
  const linkTo = (place: number): string => {
    const parameters: SentParameters = place === 0 ? used : [...used, ['_offset', String(place)]];
    const query = new URLSearchParams(
      parameters.map(([name, value]): [string, string] => [name, value]),
    ).toString();
    return `${base}/${type}${query === '' ? '' : `?${query}`}`;
  };
  const server = JSON.stringify(base).slice(1, -1);
  const entry = ({ type: kind, id, json }: Resource, mode: 'match' | 'include'): string =>
    `{"fullUrl":"${server}/${kind}/${id}","resource":${json},"search":{"mode":"${mode}"}}`;
  const next = offset + count;
  const link = [
    { relation: 'self', url: linkTo(offset) },
    ...(count > 0 && next < total ? [{ relation: 'next', url: linkTo(next) }] : []),
  ];
  const entries = [
    ...found.map((resource) => entry(resource, 'match')),
    ...included.map((resource) => entry(resource, 'include')),
    ...(outcome === undefined ? [] : [JSON.stringify({ resource: outcome, search: { mode: 'outcome' } })]),
  ];
  const list = entries.length === 0 ? '' : `,"entry":[${entries.join(',')}]`;
  return `{"resourceType":"Bundle","type":"searchset","total":${total},"link":${JSON.stringify(link)}${list}}`;
}
