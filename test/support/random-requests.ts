/** Requests made of an API document: by its schemas, or with values that nobody expects. The same seed makes the same requests. */
import { fc, type Arbitrary } from './fast-check.ts';

/** A JSON Schema as far as the document uses it. */
interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string;
  readonly pattern?: string;
  readonly format?: string;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface RequestOperation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
}

export interface RandomRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly mediaType: string | undefined;
  readonly body: string | undefined;
  /** True if nothing in it contradicts the document. */
  readonly isDescribed: boolean;
}

export interface RequestMaker {
  /** The `schemas` of the document, by name. */
  readonly schemas: Readonly<Record<string, object>>;
  /** Values for a parameter or property of that name, to be used as often as random ones. */
  readonly known: Readonly<Record<string, readonly unknown[]>>;
  readonly seed: number;
}

/** `count` requests of an operation by its schemas, and as many with hostile values. */
export function makeRequests(
  { schemas, known, seed }: RequestMaker,
  { method, place, operation }: { method: string; place: string; operation: RequestOperation },
  count: number,
): readonly RandomRequest[] {
  const described = requestOf(false).map((request) => ({ ...request, isDescribed: true }));
  const hostile = requestOf(true).map((request) => ({ ...request, isDescribed: false }));
  return [described, hostile].flatMap((arbitrary) => fc.sample(arbitrary, { seed, numRuns: count }));

  function requestOf(isHostile: boolean): Arbitrary<Omit<RandomRequest, 'isDescribed'>> {
    const { parameters = [], requestBody } = operation;
    const [mediaType, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
    const path = partsOf('path', parameters, isHostile);
    const query = partsOf('query', parameters, isHostile);
    const bodies = media === undefined ? fc.constant(undefined) : valueOf(media.schema, '', isHostile);
    const mayLack = requestBody?.required === false || isHostile;
    const body = mayLack ? fc.option(bodies, { nil: undefined, freq: 5 }) : bodies;
    return fc.record({ path, query, body }).map((one) => ({
      method: method.toUpperCase(),
      path: fillPath(place, one.path) + formatQuery(one.query),
      mediaType: one.body === undefined ? undefined : mediaType,
      body: one.body === undefined ? undefined : formatBody(mediaType, one.body),
    }));
  }

  function partsOf(
    where: string,
    parameters: readonly Parameter[],
    isHostile: boolean,
  ): Arbitrary<Record<string, unknown>> {
    const own = parameters.filter((parameter) => parameter.in === where);
    const values = Object.fromEntries(
      own.map(({ name, schema }) => [name, valueOf(schema, name, isHostile)] as const),
    );
    const requiredKeys = own.filter(({ required }) => required === true).map(({ name }) => name);
    const record = fc.record<Record<string, unknown>>(values, { requiredKeys });
    if (!isHostile || where === 'path') return record;
    const stray = fc.dictionary(fc.string({ unit: 'binary', maxLength: 8 }), fc.string(), { maxKeys: 1 });
    return fc.tuple(record, stray).map(([one, more]) => ({ ...one, ...more }));
  }

  function valueOf(schema: Schema, name: string, isHostile: boolean): Arbitrary<unknown> {
    const given = known[name] ?? [];
    const choices = [
      { weight: 4, arbitrary: fittingOf(schema, isHostile) },
      ...(given.length > 0 ? [{ weight: 4, arbitrary: fc.constantFrom(...given) }] : []),
      ...(isHostile ? [{ weight: 2, arbitrary: unexpected }] : []),
    ];
    return fc.oneof(...choices);
  }

  function fittingOf(schema: Schema, isHostile: boolean): Arbitrary<unknown> {
    if (schema.$ref !== undefined)
      return fittingOf((schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}) as Schema, isHostile);
    if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => fittingOf(one, isHostile)));
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    switch (schema.type) {
      case 'string':
        return textOf(schema);
      case 'integer':
      case 'number':
        return fc.integer({ min: schema.minimum ?? -5, max: schema.maximum ?? 1_000_000 });
      case 'boolean':
        return fc.boolean();
      case 'null':
        return fc.constant(null);
      case 'array':
        return fc.array(valueOf(schema.items ?? {}, '', isHostile), {
          minLength: schema.minItems ?? 0,
          maxLength: Math.min(schema.maxItems ?? 4, 4),
        });
      case 'object':
        return objectOf(schema, isHostile);
      default:
        return fc.jsonValue();
    }
  }

  function textOf({ pattern, examples = [], minLength = 0, maxLength = 30 }: Schema): Arbitrary<unknown> {
    const random =
      pattern === undefined
        ? fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 30) })
        : fc.stringMatching(new RegExp(pattern));
    return examples.length === 0 ? random : fc.oneof(random, fc.constantFrom(...examples));
  }

  function objectOf({ properties = {}, required = [] }: Schema, isHostile: boolean): Arbitrary<unknown> {
    const values = Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, valueOf(schema, name, isHostile)]),
    );
    const requiredKeys = isHostile ? [] : [...required];
    return fc.record<Record<string, unknown>>(values, { requiredKeys });
  }
}

/** What a database, a parser or a conversion might stumble over. */
const unexpected: Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('a', 'é', '9', '%').map((character) => character.repeat(600)),
  fc.constantFrom<unknown>(
    '\0',
    'a\0b',
    '',
    ' ',
    '\uD800',
    '%',
    '%00',
    '..',
    "'",
    '-1',
    '1.5',
    '1e3',
    'NaN',
    'true',
    -1,
    0,
    1.5,
    2 ** 53,
    1e308,
    null,
    [],
    {},
    [null],
    { constructor: 1 },
  ),
);

function fillPath(place: string, values: Readonly<Record<string, unknown>>): string {
  return place.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    const text = encode(values[name]);
    // The client resolves dots itself, and an empty part is another path.
    return /^\.*$/.test(text) ? '-' : text;
  });
}

function formatQuery(values: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(values).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function formatBody(mediaType: string | undefined, value: unknown): string {
  if (mediaType !== 'application/x-www-form-urlencoded') return JSON.stringify(value);
  return formatQuery(Object(value) as Record<string, unknown>).slice(1);
}

function encode(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return encodeURIComponent(text.toWellFormed());
}
