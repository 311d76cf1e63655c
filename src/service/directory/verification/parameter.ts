import type { FieldProblem } from '../../../core/index.ts';
import { invalidQuery } from '../errors.ts';

/** Verification options of a search; undefined options are not requested. */
export interface VerificationQuery {
  /** Only records whose address has one of these states. */
  readonly states: ReadonlySet<string> | undefined;
  readonly sort: 'ascending' | 'descending' | undefined;
}

/**
 * The parameter, an addition of this service, that shows and filters by the verification state of addresses.
 */
const verificationParameter = 'verification';
const shownOnly = 'show';

type Parameters = readonly (readonly [string, string])[];

/**
 * Takes `verification`, and `verification` at the head of `sort_by`, out of the parameters of a search;
 * undefined if the search does not ask for it. Throws DIRECTORY_QUERY_INVALID.
 */
export function splitVerification(
  sent: Parameters,
  names: readonly string[],
): { readonly rest: Parameters; readonly asked: VerificationQuery | undefined } {
  const values = sent.filter(([name]) => name === verificationParameter);
  const [value] = values;
  if (value === undefined) return { rest: sent, asked: undefined };
  if (values.length > 1) throw refuse('repeated', 'The parameter may be given once.');
  const others = sent.filter(([name]) => name !== verificationParameter);
  // As every empty parameter (Decision 0002).
  if (value[1] === '') return { rest: others, asked: undefined };
  const wanted = value[1].split(',').map((text) => text.trim());
  const showsAll = wanted.length === 1 && wanted[0] === shownOnly;
  if (!showsAll && !wanted.every((text) => names.includes(text)))
    throw refuse('invalid', `Allowed are ${shownOnly}, or a list of ${names.join(', ')}.`);
  const { rest, sort } = takeSort(others);
  return { rest, asked: { states: showsAll ? undefined : new Set(wanted), sort } };
}

/** Takes the head of `sort_by` and its direction. Repeated parameters are left for the search to refuse. */
function takeSort(sent: Parameters): { rest: Parameters; sort: VerificationQuery['sort'] } {
  const [names, ...others] = listOf(sent, 'sort_by');
  if (names !== verificationParameter) return { rest: sent, sort: undefined };
  const directions = listOf(sent, 'sort_order');
  const [direction = 'ascending', ...left] = directions;
  if (direction !== 'ascending' && direction !== 'descending') return { rest: sent, sort: undefined };
  const rest = sent.flatMap(([name, value]): (readonly [string, string])[] => {
    if (name === 'sort_by') return others.length === 0 ? [] : [[name, others.join(',')]];
    if (name !== 'sort_order') return [[name, value]];
    if (others.length === 0) return left.length === 0 ? [] : [[name, left.join(',')]];
    return [[name, left.length === 0 ? value : left.join(',')]];
  });
  return { rest, sort: direction };
}

function listOf(sent: Parameters, wanted: string): string[] {
  const value = sent.find(([name]) => name === wanted)?.[1] ?? '';
  return value === '' ? [] : value.split(',').map((text) => text.trim());
}

function refuse(reason: FieldProblem['reason'], detail: string): Error {
  return invalidQuery([{ field: verificationParameter, reason, detail }]);
}
