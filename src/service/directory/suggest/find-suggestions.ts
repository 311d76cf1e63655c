/**
 * Suggestions: people and organizations for what somebody types into one box (docs/suggestions.md).
 * Used by `service/directory`.
 * Begin with `findSuggestions` here; `parse-suggestion.ts` reads the parameters, `write-suggestions.ts`
 * writes the answer.
 */
import type { FoundSuggestions, SearchPool, SuggestionQuery } from '../../../lib/provider-index/index.ts';
import type { AddressStates } from '../verification/address-states.ts';
import type { VerifiedSearch } from '../verification/apply-verification.ts';
import type { SuggestionRequest } from './parse-suggestion.ts';
import { groupRows, writeSuggestions, type SuggestionAnswer } from './write-suggestions.ts';

/** Records looked at for one answer: an organization with very many equal ones takes the place of others. */
const maxRows = 2000;
/** Most persons have one or two records. */
const rowsPerSuggestion = 3;
const moreRows = 5;

export interface FoundAnswer {
  readonly answer: SuggestionAnswer;
  readonly totalCount: number;
  /** Direct addresses in the answer. */
  readonly shown: number;
}

/**
 * One person or organization once, although each of its addresses is a record. Throws the reason of `signal`
 * if it is aborted before the index is asked.
 */
export async function findSuggestions(
  request: SuggestionRequest,
  pool: SearchPool,
  states: AddressStates | undefined,
  verified: VerifiedSearch | undefined,
  signal?: AbortSignal,
): Promise<FoundAnswer> {
  const { limit, words } = request;
  for (let rows = limit * rowsPerSuggestion; ; rows = Math.min(maxRows, rows * moreRows)) {
    const found = await findRows(request, rows, pool, verified, signal);
    const groups = groupRows(found);
    if (groups.length < limit && found.rows.length === rows && rows < maxRows) continue;
    const { answer, shown } = writeSuggestions(found, groups.slice(0, limit), words, states);
    return { answer, shown, totalCount: found.totalCount };
  }
}

async function findRows(
  { words, state, specialty, isTrustedOnly, kind, near }: SuggestionRequest,
  limit: number,
  pool: SearchPool,
  verified: VerifiedSearch | undefined,
  signal: AbortSignal | undefined,
): Promise<FoundSuggestions> {
  const index = pool.current;
  const known = index && (await verified?.trustedRows(index));
  const query: SuggestionQuery = {
    words,
    filters: state === undefined ? [] : [{ field: 'state', match: 'exact', value: state }],
    specialty,
    isTrustedOnly,
    limit,
    ...known,
    ...(kind && { kind }),
    ...(near && { near }),
  };
  signal?.throwIfAborted();
  return pool.suggest(query, signal);
}
