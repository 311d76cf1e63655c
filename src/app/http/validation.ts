import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Pointer, Value } from 'typebox/value';
import type { FieldProblem } from '../../core/index.ts';

/**
 * Makes validators from the schemas in the API document. Bodies are validated as sent; query and path
 * parameters are text and are converted to the type in the schema. Defaults are filled in. An empty query
 * parameter of a request that only reads counts as not sent, as in Decision 0002; where something is changed
 * it is validated, since a default could do more than was meant.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart, method }) => {
  const validator = Compile(schema);
  const integers = listIntegers(schema);
  const dropsEmpty = httpPart === 'querystring' && (method === 'GET' || method === 'HEAD');
  return (value: unknown) => {
    const filled = Value.Default(schema, dropsEmpty ? withoutEmpty(schema, value) : value);
    const converted = httpPart === 'body' ? filled : convertTexts(schema, integers, filled);
    if (validator.Check(converted)) return { value: converted };
    const found = validator.Errors(converted).map((error): FastifySchemaValidationError => ({
      ...error,
      params: { ...error.params },
      message: wordsFor(schema, error as FastifySchemaValidationError) ?? error.message,
    }));
    return { error: httpPart === 'querystring' ? [...listRepeated(schema, converted), ...found] : found };
  };
};

/** Instead of words for those who know the schema: regular expressions, and allowed values without them. */
function wordsFor(
  schema: TSchema,
  { keyword, params, schemaPath }: FastifySchemaValidationError,
): string | undefined {
  if (keyword === 'enum') return `must be one of ${namesIn(params['allowedValues']).join(', ')}`;
  if (keyword !== 'pattern' && keyword !== 'format') return undefined;
  const { description = '' } = (Pointer.Get(schema, schemaPath.slice(1)) ?? {}) as { description?: string };
  return `does not have the required form${description === '' ? '' : `: ${description.replace(/\.$/, '')}`}`;
}

/** The type of a parameter that is given twice would be reported as wrong: it is read as a list. */
function listRepeated(schema: TSchema, sent: unknown): readonly FastifySchemaValidationError[] {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, { type?: unknown }>> };
  return Object.entries(sent as Readonly<Record<string, unknown>>)
    .filter(([name, value]) => Array.isArray(value) && Object.hasOwn(properties, name))
    .filter(([name]) => properties[name]?.type !== 'array')
    .map(([name]) => ({ keyword: 'repeated', instancePath: `/${name}`, schemaPath: '', params: {} }));
}

/** Unknown parameters stay, so that they are refused. */
function withoutEmpty(schema: TSchema, sent: unknown): unknown {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, unknown>> };
  const entries = Object.entries(sent as Readonly<Record<string, unknown>>);
  const kept = entries.filter(([name, text]) => text !== '' || !Object.hasOwn(properties, name));
  return kept.length === entries.length ? sent : Object.fromEntries(kept);
}

const integerText = /^-?\d+$/;

/**
 * TypeBox makes integers of 1.5, true and 0x10 too; these stay text, which is refused: 1.5 names no
 * attachment.
 */
function convertTexts(schema: TSchema, integers: readonly string[], sent: unknown): unknown {
  const kept = integers.flatMap((name) => {
    const text = (sent as Readonly<Record<string, unknown>> | undefined)?.[name];
    return typeof text === 'string' && !integerText.test(text) ? [[name, text]] : [];
  });
  const converted = Value.Convert(schema, sent);
  return kept.length === 0 ? converted : { ...(converted as object), ...Object.fromEntries(kept) };
}

function listIntegers(schema: TSchema): readonly string[] {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, { type?: unknown }>> };
  return Object.keys(properties).filter((name) => properties[name]?.type === 'integer');
}

/** The faulty fields of a failed validation, or undefined if the error is of another kind. */
export function readValidationProblems(error: unknown): readonly FieldProblem[] | undefined {
  if (!(error instanceof Error) || !('validation' in error) || !Array.isArray(error.validation))
    return undefined;
  const problems = new Map<string, FieldProblem>();
  for (const found of error.validation as FastifySchemaValidationError[]) {
    for (const problem of toProblems(found)) {
      if (!problems.has(problem.field)) problems.set(problem.field, problem);
    }
  }
  return [...problems.values()].slice(0, maxProblems);
}

/** More problems than this say no more. */
const maxProblems = 100;

function toProblems(error: FastifySchemaValidationError): FieldProblem[] {
  const at = fieldName(error.instancePath);
  switch (error.keyword) {
    case 'required':
      return namesIn(error.params['requiredProperties']).map((name) => ({
        field: join(at, name),
        reason: 'required',
        detail: `${join(at, name)} is missing.`,
      }));
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return namesIn(error.params['additionalProperties'] ?? error.params['unevaluatedProperties']).map(
        (name) => ({
          field: join(at, name),
          reason: 'unknown',
          detail: `${join(at, name)} is unknown.`,
        }),
      );
    // An unknown property is reported at its own place too, as failing a schema that nothing satisfies.
    case 'boolean':
      return [{ field: at, reason: 'unknown', detail: `${at} is unknown.` }];
    case 'repeated':
      return [{ field: at, reason: 'repeated', detail: 'The parameter may be given once.' }];
    default:
      return [
        {
          field: at,
          reason: reasons[error.keyword] ?? 'invalid',
          detail: `${at === '' ? 'The value' : at} ${error.message ?? 'is not valid'}.`,
        },
      ];
  }
}

const reasons: Readonly<Record<string, string>> = {
  type: 'wrong_type',
  maxLength: 'too_long',
  minLength: 'too_short',
  maxItems: 'too_many',
  minItems: 'too_few',
  maximum: 'out_of_range',
  minimum: 'out_of_range',
};

/** `/emailAttachmentList/0/attachmentContent` → `emailAttachmentList[0].attachmentContent`. */
function fieldName(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((name, part) => (/^\d+$/.test(part) ? `${name}[${part}]` : join(name, part)), '');
}

function join(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`;
}

const maxNames = 30;

// Names may come from the caller; only some, and only short ones, are repeated.
function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.slice(0, maxNames).map((name) => String(name).slice(0, 100)) : [];
}
