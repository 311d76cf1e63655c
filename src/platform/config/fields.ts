import { Type, type TProperties } from 'typebox';

/** A section of the configuration: every setting has a default or is optional; unknown ones are refused. */
export function section<T extends TProperties>(description: string, properties: T) {
  return Type.Object(properties, { additionalProperties: false, default: {}, description });
}

export function count(fallback: number, description: string, minimum = 1, maximum = 1_000_000_000) {
  return Type.Integer({ default: fallback, minimum, maximum, description });
}

export function rate(fallback: number, description: string) {
  return Type.Number({ default: fallback, exclusiveMinimum: 0, maximum: 1_000_000, description });
}

export function port(fallback: number, description: string) {
  return Type.Integer({ default: fallback, minimum: 0, maximum: 65_535, description });
}

export function flag(fallback: boolean, description: string) {
  return Type.Boolean({ default: fallback, description });
}

export function text(fallback: string, description: string) {
  return Type.String({ default: fallback, minLength: 1, description });
}

export function optionalText(description: string, pattern?: string) {
  return Type.Optional(
    Type.String({ minLength: 1, description, ...(pattern === undefined ? {} : { pattern }) }),
  );
}

export function texts(fallback: readonly string[], description: string, pattern?: string) {
  return Type.Array(Type.String({ minLength: 1, ...(pattern === undefined ? {} : { pattern }) }), {
    default: [...fallback],
    description,
  });
}

export function choice<const T extends readonly string[]>(
  options: readonly [...T],
  fallback: T[number],
  description: string,
) {
  return Type.Enum([...options] as [...T], { default: fallback, description });
}
