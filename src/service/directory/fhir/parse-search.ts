import { hasOnlyMarks, isLongerThan, type FieldProblem } from '../../../core/index.ts';
import { invalidQuery } from '../errors.ts';
import { defaultPageSize, maxPageSize, maxValueLength } from '../limits.ts';
import {
  includes,
  splitEscaped,
  supportedParameters,
  targetOf,
  verificationParameter,
  type Condition,
} from './search-parameters.ts';
import { isViewParameter, readView, wholeView, type View } from './view.ts';
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
  readonly view: View;
}

interface Draft {
  readonly conditions: Condition[];
  readonly include: Include[];
  readonly revinclude: string[];
  count: number;
  offset: number;
  showsStates: boolean;
  readonly view: { -readonly [Key in keyof View]: View[Key] };
  /** Of all parameters so far. */
  valueCount: number;
}

type Reader = (
  value: string,
  modifier: string | undefined,
  draft: Draft,
) => FieldProblem['detail'] | undefined;

export interface SearchContext {
  /** The address of the FHIR service: an absolute reference to another one finds nothing. */
  readonly base: string;
  /** True if unknown parameters are refused (`Prefer: handling=strict`). */
  readonly isStrict: boolean;
  /** True if addresses are verified. */
  readonly hasStates: boolean;
}

/**
 * Reads the parameters of a search. An unknown parameter is refused if the client asked for that, else
 * ignored and reported. A known one with a modifier that it does not have, or with a chain, is always refused
 * (FHIR R4: Modifiers): without its condition the answer would have more than was asked for. Throws
 * DIRECTORY_QUERY_INVALID with every faulty parameter.
 */
export function parseSearch(
  type: ResourceType,
  sent: SentParameters,
  { base, isStrict, hasStates }: SearchContext,
): ParsedSearch {
  const draft: Draft = {
    conditions: [],
    include: [],
    revinclude: [],
    count: defaultPageSize,
    offset: 0,
    showsStates: false,
    view: { ...wholeView },
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
    const [root = ''] = name.split('.');
    const known = knownModifiers(type, root, hasStates);
    if (known !== undefined && (root !== name || (modifier !== undefined && !known.includes(modifier)))) {
      problems.push({ field, reason: 'unknown', detail: describeModifiers(root, known) });
      continue;
    }
    const read = readerOf(type, name, modifier, value, { base, hasStates });
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
  const { conditions, include, revinclude, offset, showsStates, view } = draft;
  const count = view.summary === 'count' ? 0 : draft.count;
  // FHIR R4: Summary.
  if (view.summary === 'text' && include.length + revinclude.length > 0)
    problems.push({
      field: '_summary',
      reason: 'invalid',
      detail: 'The value text is not possible together with _include or _revinclude.',
    });
  if (problems.length > 0) throw invalidQuery(problems);
  return { conditions, include, revinclude, count, offset, showsStates, view, used, ignored };
}

/** Of a parameter that is supported with this name; undefined for others. */
function knownModifiers(type: ResourceType, name: string, hasStates: boolean): readonly string[] | undefined {
  const parameter = supportedParameters(type, hasStates).find((one) => one.name === name);
  if (parameter !== undefined) return parameter.modifiers;
  if (name === '_include') return ['iterate'];
  return otherNames.has(name) || isControl(name) || isViewParameter(name) ? [] : undefined;
}

/** `_has` is a condition that is nothing without what follows it. */
const otherNames: ReadonlySet<string> = new Set(['_revinclude', '_has']);

function describeModifiers(name: string, known: readonly string[]): string {
  const modifiers = known.map((one) => `:${one}`).join(', ');
  return `${name} is supported without chains and ${known.length === 0 ? 'without modifiers' : `with no modifiers but ${modifiers}`}.`;
}

/** The view of a read. Throws DIRECTORY_QUERY_INVALID. */
export function parseView(sent: SentParameters): View {
  const view = { ...wholeView };
  const problems = sent.flatMap(([field, value]): FieldProblem[] => {
    const detail = value !== '' && isViewParameter(field) ? readView(field, value, view) : undefined;
    return detail === undefined ? [] : [{ field, reason: 'invalid', detail }];
  });
  if (problems.length > 0) throw invalidQuery(problems);
  return view;
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
  { base, hasStates }: Pick<SearchContext, 'base' | 'hasStates'>,
): Reader | undefined {
  if (hasStates && modifier === undefined && isShowingStates([name, value]))
    return (_value, _modifier, draft) => void (draft.showsStates = true);
  const parameter = supportedParameters(type, hasStates).find((one) => one.name === name);
  if (parameter !== undefined) {
    return (text, own, draft) => {
      const values = splitEscaped(text, ',').filter((part) => part !== '');
      if (values.length === 0) return undefined;
      if (values.length > maxValues) return `At most ${maxValues} values.`;
      if (values.some(hasOnlyMarks)) return 'A value consists of combining marks alone.';
      draft.valueCount += values.length;
      if (draft.valueCount > maxValuesTogether)
        return `At most ${maxValuesTogether} values in all parameters together.`;
      const condition = parameter.read(values, own, base);
      if (typeof condition === 'string') return condition;
      draft.conditions.push(condition);
      draft.showsStates ||= condition.kind === 'states';
      return undefined;
    };
  }
  if (name === '_include') {
    const iterates = modifier === 'iterate';
    const known = resourceTypes.flatMap((source) =>
      source === type || iterates ? includes[source].include : [],
    );
    const paths = knownPaths(value, known);
    if (paths === undefined) return undefined;
    return (_value, _modifier, { include }) => {
      // Each is followed from every resource of the page, so one that is sent again and again would take
      // minutes.
      for (const path of paths)
        if (!include.some((one) => one.path === path && one.iterates === iterates))
          include.push({ path, iterates });
      return undefined;
    };
  }
  if (name === '_revinclude') {
    const paths = knownPaths(value, includes[type].revinclude);
    if (paths === undefined) return undefined;
    return (_value, _own, { revinclude }) => {
      for (const path of paths) if (!revinclude.includes(path)) revinclude.push(path);
      return undefined;
    };
  }
  if (isViewParameter(name)) return (text, _modifier, draft) => readView(name, text, draft.view);
  return controls.get(`${name}=${value}`) ?? controls.get(name);
}

/**
 * `PractitionerRole:practitioner`, for that with its type as third part, too: each reference has one type.
 * `*` and `PractitionerRole:*` are all of them, and perhaps none.
 */
function knownPaths(value: string, known: readonly string[]): readonly string[] | undefined {
  if (value === '*') return known;
  const [source] = value.split(':') as [ResourceType];
  if (value === `${source}:*` && resourceTypes.includes(source))
    return known.filter((path) => path.startsWith(`${source}:`));
  const path = known.find((one) => value === one || value === `${one}:${targetOf(one)}`);
  return path === undefined ? undefined : [path];
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
  // Totals are exact for every value of `_total`.
  ['_total=accurate', understood],
  ['_total=estimate', understood],
  ['_total=none', understood],
  // Checked before, with the Accept header.
  ['_format', understood],
]);

function isControl(name: string): boolean {
  return name === '_total' || controls.has(name);
}
