import { hasOnlyMarks, isLongerThan, type FieldProblem } from '../../../core/index.ts';
import { parseWords, type QueryWord } from '../../../lib/search-words/index.ts';
import { isStateCode } from '../../../lib/values/index.ts';
import { invalidQuery } from '../errors.ts';
import { defaultSuggestions, maxQueryLength, maxSuggestions, maxValueLength } from '../limits.ts';
import { findPlace, type CenterFinder, type Point } from '../radius.ts';

/** A parameter of `GET /provider-directory/v2/suggestions`. */
export interface SuggestionParameter {
  readonly name:
    | 'q'
    | 'limit'
    | 'state'
    | 'specialty'
    | 'verified'
    | 'kind'
    | 'org_zip'
    | 'org_city'
    | 'org_state';
  readonly description: string;
  readonly example: string;
}

export const suggestionParameters: readonly SuggestionParameter[] = [
  {
    name: 'q',
    description:
      'What somebody types, 1 to 200 characters: words in any order of name, organization, specialty, street, city, ' +
      'state, ZIP code, telephone number, NPI or Direct address. Each must be found; the last one may be unfinished.',
    example: 'smith cardio chicago',
  },
  { name: 'limit', description: 'Suggestions in the answer, 1 to 50; 10 if absent.', example: '10' },
  { name: 'state', description: 'Only records in this state (two letters).', example: 'IL' },
  {
    name: 'specialty',
    description: 'Only records with this specialty: words, or the value of a facet.',
    example: '207R',
  },
  {
    name: 'verified',
    description: '`true`: only records whose Direct address was verified as trusted.',
    example: 'true',
  },
  {
    name: 'kind',
    description: 'Only addresses of this kind: `person` or `organization`.',
    example: 'person',
  },
  {
    name: 'org_zip',
    description: 'The place of the asker, from which distances are told: `#####` or `#####-####`.',
    example: '60601',
  },
  { name: 'org_city', description: 'The same by city, together with org_state.', example: 'Chicago' },
  { name: 'org_state', description: 'The state of org_city.', example: 'IL' },
];

export interface SuggestionRequest {
  readonly words: readonly QueryWord[];
  readonly limit: number;
  readonly state: string | undefined;
  readonly specialty: readonly QueryWord[];
  readonly isTrustedOnly: boolean;
  readonly kind: 'person' | 'organization' | undefined;
  readonly near: Point | undefined;
}

const known: ReadonlySet<string> = new Set(suggestionParameters.map(({ name }) => name));

/** Throws DIRECTORY_QUERY_INVALID with every faulty parameter, or DIRECTORY_CENTER_NOT_FOUND. */
export function parseSuggestion(
  sent: readonly (readonly [string, string])[],
  centers: CenterFinder,
): SuggestionRequest {
  const problems: FieldProblem[] = [];
  const supplied = collect(sent, problems);
  const refuse = (field: string, detail: string, reason = 'invalid'): void => {
    problems.push({ field, reason, detail });
  };
  const words = parseWords(supplied.get('q') ?? '');
  if (!supplied.has('q')) {
    if (!problems.some(({ field }) => field === 'q')) refuse('q', 'q is what to look for.', 'required');
  } else if (words.length === 0) refuse('q', 'q has at least one letter or digit.');
  const limit = supplied.get('limit') ?? String(defaultSuggestions);
  if (!/^[0-9]{1,9}$/.test(limit) || Number(limit) < 1) refuse('limit', 'limit is an integer of at least 1.');
  const state = supplied.get('state');
  if (state !== undefined && !isStateCode(state)) refuse('state', 'state is a two-letter code of a state.');
  const specialty = parseWords(supplied.get('specialty') ?? '');
  if (supplied.has('specialty') && specialty.length === 0)
    refuse('specialty', 'specialty has at least one letter or digit.');
  const verified = supplied.get('verified') ?? 'false';
  if (verified !== 'true' && verified !== 'false') refuse('verified', 'verified is true or false.');
  const kind = supplied.get('kind');
  if (kind !== undefined && kind !== 'person' && kind !== 'organization')
    refuse('kind', 'kind is person or organization.');
  const place = findPlace(supplied, centers, problems);
  if (problems.length > 0) throw invalidQuery(problems);
  return {
    words,
    limit: Math.min(Number(limit), maxSuggestions),
    state,
    specialty: specialty.map(inSpecialty),
    isTrustedOnly: verified === 'true',
    kind: kind as SuggestionRequest['kind'],
    near: place?.(),
  };
}

function collect(
  sent: readonly (readonly [string, string])[],
  problems: FieldProblem[],
): ReadonlyMap<string, string> {
  const supplied = new Map<string, string>();
  const seen = new Set<string>();
  for (const [name, value] of sent) {
    const most = name === 'q' ? maxQueryLength : maxValueLength;
    if (!known.has(name))
      problems.push({ field: name.slice(0, 64), reason: 'unknown', detail: 'Unknown parameter.' });
    else if (seen.has(name))
      problems.push({ field: name, reason: 'repeated', detail: 'The parameter may be given once.' });
    else if (isLongerThan(value, most))
      problems.push({ field: name, reason: 'too_long', detail: `At most ${most} characters.` });
    else if (value.includes('\ufffd') || hasOnlyMarks(value))
      problems.push({
        field: name,
        reason: 'invalid',
        detail: 'The value is not percent-encoded UTF-8 text.',
      });
    else if (value.trim() !== '') supplied.set(name, name === 'q' ? value : value.trim());
    seen.add(name);
  }
  return supplied;
}

/** The same word, looked for in the specialty alone. */
function inSpecialty(word: QueryWord): QueryWord {
  const terms = word.terms
    .filter(({ fields }) => fields === undefined || fields.includes('specialty'))
    .map((term) => ({ ...term, fields: ['specialty'] as const }));
  return { ...word, isNumber: false, edits: 0, nearTerms: [], terms };
}
