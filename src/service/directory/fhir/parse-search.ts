import { hasOnlyMarks, isLongerThan, type FieldProblem } from '../../../core/index.ts';
import { invalidQuery } from '../errors.ts';
import { defaultPageSize, maxPageSize, maxValueLength } from '../limits.ts';
import {
  includes,
  splitEscaped,
  supportedParameters,
  verificationParameter,
  type Condition,
} from './search-parameters.ts';
import { resourceTypes, type ResourceType } from './vocabulary.ts';

export type SentParameters = readonly (readonly [name: string, value: string])[];

/** An included kind of resource: `PractitionerRole:endpoint`. */
export interface Include {
  readonly path: string;
  /** True: follow references from included resources, too, not only from those found. */
  readonly iterates: boolean;
}

export interface ParsedSearch {
  readonly conditions: readonly Condition[];
  readonly count: number;
  readonly offset: number;
  readonly include: readonly Include[];
  readonly revinclude: readonly string[];
  /** The accepted parameters, for `link`, without the offset. */
  readonly used: SentParameters;
  /** The ignored parameters. */
  readonly ignored: readonly FieldProblem[];
  /** True if endpoints show the states of their addresses. */
  readonly showsStates: boolean;
}

interface Draft {
  readonly conditions: Condition[];
  readonly include: Include[];
  readonly revinclude: string[];
  count: number;
  offset: number;
  showsStates: boolean;
  /** Of all parameters so far. */
  valueCount: number;
}

type Reader = (
  value: string,
  modifier: string | undefined,
  draft: Draft,
) => FieldProblem['detail'] | undefined;

/**
 * Reads the parameters of a search. An unknown parameter is refused if the client asked for that (`Prefer: handling=strict`),
 * else ignored and reported. Throws DIRECTORY_QUERY_INVALID with every faulty parameter.
 */
export function parseSearch(
  type: ResourceType,
  sent: SentParameters,
  isStrict: boolean,
  hasStates: boolean,
): ParsedSearch {
  const draft: Draft = {
    conditions: [],
    include: [],
    revinclude: [],
    count: defaultPageSize,
    offset: 0,
    showsStates: false,
    valueCount: 0,
  };
  const problems: FieldProblem[] = [];
  const ignored: FieldProblem[] = [];
  const used: (readonly [string, string])[] = [];
  for (const [key, value] of sent) {
    const field = key.length <= 64 ? key : `${key.slice(0, 64)}…`;
    if (isLongerThan(value, maxValueLength) || value.includes('\ufffd')) {
      const detail = `At most ${maxValueLength} characters of UTF-8 without the replacement character U+FFFD.`;
      problems.push({ field, reason: 'invalid', detail });
      continue;
    }
    if (value === '') continue;
    const [name = '', ...modifiers] = key.split(':');
    const modifier = modifiers.length === 0 ? undefined : modifiers.join(':');
    const read = readerOf(type, name, modifier, value, hasStates);
    if (read === undefined) {
      ignored.push({ field, reason: 'unknown', detail: 'The parameter is not supported and was ignored.' });
      continue;
    }
    const problem = read(value, modifier, draft);
    if (problem !== undefined) problems.push({ field, reason: 'invalid', detail: problem });
    else if (name !== '_offset') used.push([key, value]);
  }
  if (isStrict) {
    for (const { field } of ignored)
      problems.push({ field, reason: 'unknown', detail: 'The parameter is not supported.' });
  }
  if (problems.length > 0) throw invalidQuery(problems);
  const { conditions, include, revinclude, count, offset, showsStates } = draft;
  return { conditions, include, revinclude, count, offset, showsStates, used, ignored };
}

/** True if a parameter only requests the states of addresses. */
export function isShowingStates([name, value]: readonly [string, string]): boolean {
  return name === verificationParameter && value === 'show';
}

/** Undefined for a parameter that is not supported. */
function readerOf(
  type: ResourceType,
  name: string,
  modifier: string | undefined,
  value: string,
  hasStates: boolean,
): Reader | undefined {
  if (hasStates && modifier === undefined && isShowingStates([name, value]))
    return (_value, _modifier, draft) => void (draft.showsStates = true);
  const parameter = supportedParameters(type, hasStates).find((one) => one.name === name);
  if (parameter !== undefined) {
    if (modifier !== undefined && !parameter.modifiers.includes(modifier)) return undefined;
    return (text, own, draft) => {
      const values = splitEscaped(text, ',').filter((part) => part !== '');
      if (values.length === 0) return undefined;
      if (values.length > maxValues) return `At most ${maxValues} values.`;
      if (values.some(hasOnlyMarks)) return 'A value consists of combining marks alone.';
      draft.valueCount += values.length;
      if (draft.valueCount > maxValuesTogether)
        return `At most ${maxValuesTogether} values in all parameters together.`;
      const condition = parameter.read(values, own);
      if (typeof condition === 'string') return condition;
      draft.conditions.push(condition);
      draft.showsStates ||= condition.kind === 'states';
      return undefined;
    };
  }
  if (name === '_include' && (modifier === undefined || modifier === 'iterate')) {
    const known = resourceTypes.flatMap((source) =>
      source === type || modifier === 'iterate' ? includes[source].include : [],
    );
    if (!known.includes(value)) return undefined;
    return (path, own, { include }) => {
      const iterates = own === 'iterate';
      // Each is followed from every resource of the page, so one that is sent again and again would take minutes.
      if (!include.some((one) => one.path === path && one.iterates === iterates))
        include.push({ path, iterates });
      return undefined;
    };
  }
  if (name === '_revinclude' && modifier === undefined && includes[type].revinclude.includes(value))
    return (path, _own, { revinclude }) => {
      if (!revinclude.includes(path)) revinclude.push(path);
      return undefined;
    };
  return modifier === undefined ? (controls.get(`${name}=${value}`) ?? controls.get(name)) : undefined;
}

/** Values of one parameter, of which one must fit. */
const maxValues = 50;
/** A parameter may come several times, and each value is a search. */
const maxValuesTogether = 100;

function ofNumber(name: 'count' | 'offset', most: number): Reader {
  return (value, _modifier, draft) => {
    if (!/^[0-9]+$/.test(value)) return 'The value is a whole number.';
    draft[name] = Math.min(Number(value), most);
    return undefined;
  };
}

const understood: Reader = () => undefined;

/** Parameters of every search; with a value where only that one is supported. */
const controls: ReadonlyMap<string, Reader> = new Map([
  ['_count', ofNumber('count', maxPageSize)],
  ['_offset', ofNumber('offset', Number.MAX_SAFE_INTEGER)],
  ['_summary=count', (_value, _modifier, draft) => void (draft.count = 0)],
  ['_summary=false', understood],
  // Totals are exact for every value of `_total`.
  ['_total=accurate', understood],
  ['_total=estimate', understood],
  ['_total=none', understood],
  // Judged before, with the Accept header.
  ['_format', understood],
]);
