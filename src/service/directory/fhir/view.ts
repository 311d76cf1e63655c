import type { FieldProblem } from '../../../core/index.ts';
import { subsettedTag, type ResourceType } from './vocabulary.ts';

/** What of the resources an answer shows, and how (FHIR R4: Summary, Elements, General parameters). */
export interface View {
  readonly summary: 'true' | 'text' | 'data' | 'count' | 'false';
  /** Names of elements, as sent; blank for all. */
  readonly elements: readonly string[];
  readonly isPretty: boolean;
}

export const wholeView: View = { summary: 'false', elements: [], isPretty: false };

const summaries = ['true', 'text', 'data', 'count', 'false'] as const;
const names: ReadonlySet<string> = new Set(['_summary', '_elements', '_pretty']);

export function isViewParameter(name: string): boolean {
  return names.has(name);
}

/** Reads a parameter into a view. Returns what is wrong with it. */
export function readView(
  name: string,
  value: string,
  view: { -readonly [Key in keyof View]: View[Key] },
): FieldProblem['detail'] | undefined {
  if (name === '_summary') {
    const wanted = summaries.find((one) => one === value);
    if (wanted === undefined) return `Allowed are ${summaries.join(', ')}.`;
    view.summary = wanted;
  } else if (name === '_pretty') {
    if (value !== 'true' && value !== 'false') return 'Allowed are true and false.';
    view.isPretty = value === 'true';
  } else {
    const wanted = value.split(',').map((one) => one.trim());
    if (!wanted.every((one) => /^[A-Za-z]+(?:\.[A-Za-z]+)*$/.test(one)))
      return 'The value is a list of names of elements.';
    view.elements = [...view.elements, ...wanted];
  }
  return undefined;
}

/**
 * The elements that a resource here may have and that are no part of its summary (FHIR R4: the definitions of
 * the resources).
 */
const beyondSummary: Readonly<Record<ResourceType, readonly string[]>> = {
  Endpoint: [],
  Practitioner: ['qualification'],
  PractitionerRole: ['endpoint'],
  Organization: ['address'],
  Location: ['address', 'position'],
};

/** Elements that FHIR R4 demands. */
const mandatory: Partial<Readonly<Record<ResourceType, readonly string[]>>> = {
  Endpoint: ['status', 'connectionType', 'payloadType', 'address'],
};

// Extensions are there on request alone.
const always = ['resourceType', 'id', 'meta', 'extension'];

interface Json {
  readonly [name: string]: unknown;
}

interface ResourceJson extends Json {
  readonly resourceType: ResourceType;
  readonly meta: { readonly tag?: readonly object[] };
}

interface BundleJson extends Json {
  readonly entry?: readonly { readonly resource: ResourceJson; readonly search: { readonly mode: string } }[];
}

/** A resource of a read, as the view has it. */
export function viewResource(json: Uint8Array, view: View): Uint8Array {
  if (isWhole(view)) return json;
  return write(reduce(parse(json) as ResourceJson, view), view);
}

/**
 * A bundle as the view has it: `_elements` is about the resources that were found, and `_summary` about all.
 */
export function viewBundle(json: Uint8Array, view: View): Uint8Array {
  if (isWhole(view)) return json;
  const bundle = parse(json) as BundleJson;
  const entry = bundle.entry?.map((one) => {
    if (one.search.mode === 'outcome') return one;
    const own = one.search.mode === 'match' ? view : { ...view, elements: [] };
    return { ...one, resource: reduce(one.resource, own) };
  });
  return write(entry === undefined ? bundle : { ...bundle, entry }, view);
}

function isWhole({ summary, elements, isPretty }: View): boolean {
  return (summary === 'false' || summary === 'count') && elements.length === 0 && !isPretty;
}

function parse(json: Uint8Array): unknown {
  return JSON.parse(Buffer.from(json).toString());
}

function write(value: object, { isPretty }: View): Uint8Array {
  return Buffer.from(JSON.stringify(value, undefined, isPretty ? 2 : undefined));
}

/** `_elements` counts more than `_summary`. What was left out is said by a tag. */
function reduce(resource: ResourceJson, { summary, elements }: View): object {
  if (elements.length === 0 && (summary === 'false' || summary === 'count')) return resource;
  const type = resource.resourceType;
  const kept = new Set([
    ...always,
    ...(mandatory[type] ?? []),
    ...elements.map((path) => elementOf(path, type)),
  ]);
  const isKept = (name: string): boolean =>
    elements.length > 0 || summary === 'text'
      ? kept.has(name)
      : summary === 'data' || !beyondSummary[type].includes(name);
  const { meta } = resource;
  return {
    ...Object.fromEntries(Object.entries(resource).filter(([name]) => isKept(name))),
    meta: { ...meta, tag: [...(meta.tag ?? []), subsettedTag] },
  };
}

/** The element of the resource that a path is within: `name` of `name.family` and of `Practitioner.name`. */
function elementOf(path: string, type: ResourceType): string {
  const [first = '', second = ''] = path.split('.');
  return first === type ? second : first;
}
