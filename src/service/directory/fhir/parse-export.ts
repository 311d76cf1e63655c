import { invalidQuery } from '../errors.ts';
import { parseSince } from './dates.ts';
import type { SentParameters } from './parse-search.ts';
import { resourceTypes, type ResourceType } from './vocabulary.ts';

const formats: ReadonlySet<string> = new Set([
  'application/fhir+ndjson',
  // An unescaped + is a blank in a query.
  'application/fhir ndjson',
  'application/ndjson',
  'ndjson',
]);

/** The scope of an export. */
export interface ExportScope {
  readonly types: readonly ResourceType[];
  /** As sent; blank for everything. */
  readonly since: string;
}

/** Throws DIRECTORY_QUERY_INVALID. */
export function parseExport(sent: SentParameters, isStrict: boolean): ExportScope {
  let since = '';
  let types: ResourceType[] = [...resourceTypes];
  for (const [name, value] of sent) {
    if (name === '_type') {
      const wanted = new Set(value.split(','));
      types = types.filter((type) => wanted.delete(type));
      if (wanted.size > 0) throw refuse('_type', 'invalid', `Known are ${resourceTypes.join(', ')}.`);
    } else if (name === '_since') {
      if (parseSince(value) === undefined)
        throw refuse(name, 'invalid', 'The value is an instant, for example 2026-11-22T10:30:00Z.');
      since = value;
    } else if (name === '_outputFormat') {
      if (!formats.has(value)) throw refuse(name, 'invalid', 'The format is application/fhir+ndjson.');
    } else if (isStrict) {
      throw refuse(name.slice(0, 64), 'unknown', 'The parameter is not supported.');
    }
  }
  return { types, since };
}

/** The parameters of a scope, for an address. */
export function exportQuery({ types, since }: ExportScope): string {
  return `_type=${types.join(',')}${since === '' ? '' : `&_since=${encodeURIComponent(since)}`}`;
}

function refuse(field: string, reason: string, detail: string): Error {
  return invalidQuery([{ field, reason, detail }]);
}
