import type { FieldProblem } from '../../../core/index.ts';
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

export interface ParsedExport extends ExportScope {
  /** What was ignored since the client allowed that. */
  readonly ignored: readonly FieldProblem[];
}

const detail = 'The parameter is not supported: only _type, _since and _outputFormat are.';

/**
 * Refuses what is not supported, since without a filter an export has more than was asked for; with
 * `isLenient` (`Prefer: handling=lenient`) it is ignored and reported (Bulk Data Access: Query Parameters).
 * Throws DIRECTORY_QUERY_INVALID with every faulty parameter.
 */
export function parseExport(sent: SentParameters, isLenient: boolean): ParsedExport {
  let since = '';
  let hasTypes = false;
  const types = new Set<string>();
  const problems: FieldProblem[] = [];
  const ignored: FieldProblem[] = [];
  const notSupported = isLenient ? ignored : problems;
  for (const [name, value] of sent) {
    if (name === '_type') {
      hasTypes = true;
      for (const type of value.split(',')) {
        if (resourceTypes.some((known) => known === type)) types.add(type);
        else {
          const text = `${type.slice(0, 64)} is not supported: known are ${resourceTypes.join(', ')}.`;
          notSupported.push({ field: name, reason: 'invalid', detail: text });
        }
      }
    } else if (name === '_since') {
      if (parseSince(value) === undefined)
        problems.push({
          field: name,
          reason: 'invalid',
          detail: 'The value is an instant, for example 2026-11-22T10:30:00Z.',
        });
      since = value;
    } else if (name === '_outputFormat') {
      if (!formats.has(value))
        problems.push({ field: name, reason: 'invalid', detail: 'The format is application/fhir+ndjson.' });
    } else if (name !== '_format' && name !== '_pretty') {
      notSupported.push({ field: name.slice(0, 64), reason: 'unknown', detail });
    }
  }
  if (hasTypes && types.size === 0 && problems.length === 0) problems.push(...ignored);
  if (problems.length > 0) throw invalidQuery(problems);
  return {
    types: hasTypes ? resourceTypes.filter((type) => types.has(type)) : resourceTypes,
    since,
    ignored,
  };
}
