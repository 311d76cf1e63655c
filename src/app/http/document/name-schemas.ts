import { isDeepStrictEqual } from 'node:util';

/** A value of a JSON document. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/** Collects the schemas of a document by name. */
export interface SchemaNames {
  /** The value with each schema that has a `title` replaced by a reference to the component of that name. */
  replace(value: Json): Json;
  /** The components so far, by name. */
  list(): JsonObject;
}

/**
 * Routes carry their schemas whole, since the same schemas validate; in the document a schema with a `title`
 * is written once and referred to by that name. Throws a TypeError if two different schemas have the same
 * title.
 */
export function createSchemaNames(): SchemaNames {
  const components = new Map<string, JsonObject>();

  function replace(value: Json): Json {
    if (Array.isArray(value)) return value.map(replace);
    if (!isObject(value)) return value;
    const { title, ...rest }: Record<string, Json> = Object.fromEntries(
      // Examples are data: an object in them is not a schema, even if it looks like one.
      Object.entries(listExample(value)).map(([name, member]) => [
        name,
        isData(name) ? member : replace(member),
      ]),
    );
    if (title === undefined) return rest;
    if (typeof title !== 'string') return { ...rest, title };
    const known = components.get(title);
    if (known !== undefined && !isDeepStrictEqual(known, rest))
      throw new TypeError(`two different schemas have the title ${title}`);
    components.set(title, rest);
    return { $ref: `#/components/schemas/${title}` };
  }

  return {
    replace,
    list: () => Object.fromEntries([...components].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

const isData = (name: string): boolean => name === 'example' || name === 'examples';

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A schema of OpenAPI 3.1 has `examples`; the framework writes `example`, which is for parameters and bodies.
 */
function listExample(value: JsonObject): JsonObject {
  const { example, ...rest } = value;
  return example === undefined || 'schema' in value ? value : { ...rest, examples: [example] };
}
