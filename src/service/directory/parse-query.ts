import { hasOnlyMarks, isLongerThan, toPlainSigns, type FieldProblem } from '../../core/index.ts';
import type { ProviderFilter, ProviderQuery } from '../../lib/provider-index/index.ts';
import { isStateCode } from '../../lib/values/index.ts';
import { invalidQuery } from './errors.ts';
import { defaultPageSize, maxPageSize, maxValueLength } from './limits.ts';
import {
  directoryParameters,
  filterParameters,
  type FilterParameter,
  type SuppliedParameters,
} from './parameters.ts';
import { resolveRadius, type CenterFinder } from './radius.ts';
import { parseSort } from './sort.ts';

const filterNames = new Set<string>(filterParameters.map(({ name }) => name));
const known = new Set<string>(directoryParameters.map((parameter) => parameter.name));

/**
 * Turns the query parameters of a search, in the order and number in which they were sent, into a query for
 * the index (Directory spec: Search providers; Decisions 0002 to 0004). Throws DIRECTORY_QUERY_INVALID with
 * every faulty parameter, or DIRECTORY_CENTER_NOT_FOUND.
 */
export function parseQuery(sent: Iterable<readonly [string, string]>, centers: CenterFinder): ProviderQuery {
  const problems: FieldProblem[] = [];
  const supplied = collect(sent, problems);
  const offset = parseCount(supplied, 'offset', 0, problems) ?? 0;
  const limit = parseCount(supplied, 'limit', 1, problems) ?? defaultPageSize;
  const sort = parseSort(supplied, problems);
  const filters = filterParameters.filter(({ name }) => supplied.has(name));
  const radius = resolveRadius(supplied, centers, problems);
  for (const parameter of filters) checkForm(parameter, supplied, problems);
  if (problems.length > 0) throw invalidQuery(problems);
  return {
    filters: filters
      .filter(({ name }) => radius?.centerNames.includes(name) !== true)
      .map((p) => toFilter(p, supplied)),
    sort,
    offset,
    limit: Math.min(limit, maxPageSize),
    ...(radius === undefined ? {} : { radius: radius.find() }),
  };
}

/**
 * A misspelt filter must not return the whole directory, so that unknown names are refused (Decision 0002).
 */
function collect(sent: Iterable<readonly [string, string]>, problems: FieldProblem[]): SuppliedParameters {
  const supplied = new Map<string, string>();
  const seen = new Set<string>();
  for (const [name, text] of sent) {
    const value = filterNames.has(name) ? toPlainSigns(text).trim() : text;
    if (!known.has(name)) {
      problems.push({ field: showName(name), reason: 'unknown', detail: 'Unknown parameter.' });
    } else if (seen.has(name)) {
      problems.push({ field: name, reason: 'repeated', detail: 'The parameter may be given once.' });
    } else if (isLongerThan(text, maxValueLength)) {
      problems.push({ field: name, reason: 'too_long', detail: `At most ${maxValueLength} characters.` });
    } else if (value.includes('\ufffd')) {
      const detail = 'The value is not percent-encoded UTF-8, or contains the replacement character U+FFFD.';
      problems.push({ field: name, reason: 'invalid', detail });
    } else if (hasOnlyMarks(value)) {
      const detail = 'The value consists of combining marks alone.';
      problems.push({ field: name, reason: 'invalid', detail });
    } else if (value !== '' || name === 'radius') {
      supplied.set(name, value);
    }
    seen.add(name);
  }
  return supplied;
}

function showName(name: string): string {
  return name.length <= 64 ? name : `${name.slice(0, 64)}…`;
}

function parseCount(
  supplied: SuppliedParameters,
  name: 'offset' | 'limit',
  least: number,
  problems: FieldProblem[],
): number | undefined {
  const text = supplied.get(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^[0-9]+$/.test(text) && value >= least) return Math.min(value, Number.MAX_SAFE_INTEGER);
  problems.push({ field: name, reason: 'invalid', detail: `${name} is an integer of at least ${least}.` });
  return undefined;
}

function checkForm(
  { name, field, form }: FilterParameter,
  supplied: SuppliedParameters,
  problems: FieldProblem[],
): void {
  const value = supplied.get(name) ?? '';
  const isState = field !== 'state' || isStateCode(value);
  if (isState && (form === undefined || form.pattern.test(value))) return;
  if (problems.some((problem) => problem.field === name)) return;
  const detail = isState ? form?.text : 'Not a state: the two letters of a state or territory, such as MA.';
  problems.push({ field: name, reason: 'invalid', detail: detail ?? '' });
}

function toFilter(parameter: FilterParameter, supplied: SuppliedParameters): ProviderFilter {
  return { field: parameter.field, match: parameter.match, value: supplied.get(parameter.name) ?? '' };
}
