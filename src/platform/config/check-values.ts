import type { Schema } from './fields.ts';

/** The value with the defaults of all that is missing. */
export function fillDefaults(schema: Schema, value: unknown): unknown {
  const filled = value === undefined ? structuredClone(schema.default) : value;
  if (schema.properties === undefined || !isObject(filled)) return filled;
  const result: Record<string, unknown> = { ...filled };
  for (const [name, inner] of Object.entries(schema.properties)) {
    const found = fillDefaults(inner, result[name]);
    if (found !== undefined) result[name] = found;
  }
  return result;
}

/** What is wrong with a value. */
export interface Fault {
  /** `section.name`, with the place of an item behind it. */
  readonly field: string;
  /** What is expected, in words; undefined for an unknown setting. The value may be a secret. */
  readonly expected?: string;
}

/** All faults of a value whose defaults are filled in. */
export function listFaults(schema: Schema, value: unknown, names: readonly string[] = []): readonly Fault[] {
  const field = names.join('.');
  const expected = describeFault(schema, value);
  if (expected !== undefined) return [{ field, expected }];
  if (Array.isArray(value)) {
    const { items, description = '' } = schema;
    if (items === undefined) return [];
    return value.flatMap((item, index) =>
      listFaults({ description, ...items }, item, [...names, `${index}`]),
    );
  }
  if (!isObject(value)) return [];
  const { properties = {} } = schema;
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = [...names, name];
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return known === undefined ? [{ field: path.join('.') }] : listFaults(known, inner, path);
  });
}

const typeWords: Readonly<Record<Schema['type'], string>> = {
  boolean: 'must be true or false',
  integer: 'must be a whole number',
  number: 'must be a number',
  string: 'must be a text',
  array: 'must be a list',
  object: 'must be a section with its settings',
};

function describeFault(schema: Schema, value: unknown): string | undefined {
  if (schema.enum !== undefined)
    return schema.enum.some((option) => option === value)
      ? undefined
      : `must be one of ${schema.enum.join(', ')}`;
  if (!hasType(schema.type, value)) return typeWords[schema.type];
  if (typeof value === 'number') return describeNumber(schema, value);
  if (typeof value === 'string') return describeText(schema, value);
  if (Array.isArray(value) && value.length < (schema.minItems ?? 0)) return 'must not be empty';
  return undefined;
}

function describeNumber(schema: Schema, value: number): string | undefined {
  const { minimum, maximum, exclusiveMinimum } = schema;
  if (minimum !== undefined && value < minimum) return `must be at least ${minimum}`;
  if (maximum !== undefined && value > maximum) return `must be at most ${maximum}`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    return `must be more than ${exclusiveMinimum}`;
  return undefined;
}

function describeText(
  { minLength = 0, pattern, description = '' }: Schema,
  value: string,
): string | undefined {
  if (value.length < minLength) return 'must not be empty';
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value))
    return `does not have the expected form: ${description.replace(/\.$/, '')}`;
  return undefined;
}

function hasType(type: Schema['type'], value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'string':
    case 'boolean':
      return typeof value === type;
  }
}

/** True for what JSON writes in braces. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
