/**
 * The form of a setting or section: of JSON Schema what settings need, so that no command loads a library
 * for them. `T` is the type of the value; settings without a default may be `undefined`.
 */
export interface Schema<T = unknown> {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  /** Of the compiler only. */
  readonly valueType?: T;
}

type ValueOf<S> = S extends Schema<infer T> ? T : never;
type Properties = Readonly<Record<string, Schema>>;
type OptionalNames<P> = { [K in keyof P]: undefined extends ValueOf<P[K]> ? K : never }[keyof P];
type Values<P> = { [K in Exclude<keyof P, OptionalNames<P>>]: ValueOf<P[K]> } & {
  [K in OptionalNames<P>]?: Exclude<ValueOf<P[K]>, undefined>;
};

/** A section of the configuration: every setting has a default or is optional; unknown ones are refused. */
export function section<const P extends Properties>(description: string, properties: P): Schema<Values<P>> {
  return { type: 'object', properties, default: {}, description };
}

export function count(
  fallback: number,
  description: string,
  minimum = 1,
  maximum = 1_000_000_000,
): Schema<number> {
  return { type: 'integer', default: fallback, minimum, maximum, description };
}

export function rate(fallback: number, description: string, maximum = 1_000_000): Schema<number> {
  return { type: 'number', default: fallback, exclusiveMinimum: 0, maximum, description };
}

export function rates(fallback: readonly number[], description: string, maximum: number): Schema<number[]> {
  return {
    type: 'array',
    items: { type: 'number', exclusiveMinimum: 0, maximum },
    default: fallback,
    minItems: 1,
    description,
  };
}

export function port(fallback: number, description: string): Schema<number> {
  return { type: 'integer', default: fallback, minimum: 0, maximum: 65_535, description };
}

export function optionalPort(description: string): Schema<number | undefined> {
  return { type: 'integer', minimum: 0, maximum: 65_535, description };
}

export function flag(fallback: boolean, description: string): Schema<boolean> {
  return { type: 'boolean', default: fallback, description };
}

export function text(fallback: string, description: string): Schema<string> {
  return { type: 'string', default: fallback, minLength: 1, description };
}

export function optionalText(description: string, pattern?: string): Schema<string | undefined> {
  return { type: 'string', minLength: 1, description, ...(pattern === undefined ? {} : { pattern }) };
}

export function texts(fallback: readonly string[], description: string, pattern?: string): Schema<string[]> {
  const items: Schema = { type: 'string', minLength: 1, ...(pattern === undefined ? {} : { pattern }) };
  return { type: 'array', items, default: fallback, description };
}

export function choice<const T extends readonly string[]>(
  options: T,
  fallback: T[number],
  description: string,
): Schema<T[number]> {
  return { type: 'string', enum: options, default: fallback, description };
}
