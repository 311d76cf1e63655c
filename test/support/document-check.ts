/**
 * Compares answers with the API document: the status is one that it names, and the body fits its schema and has no property that the schema
 * does not name. Each reason of a fault or a warning must be on the page of errors.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** An answer as it came over the wire. */
export interface SeenAnswer {
  readonly method: string;
  /** With or without a query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
}

interface ResponseObject {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>>;
}

interface OperationObject {
  readonly operationId?: string;
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

interface DocumentObject {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly responses?: Readonly<Record<string, ResponseObject>> };
}

/** Throws an AssertionError for an answer of a documented operation that the document does not describe. */
export type DocumentCheck = (answer: SeenAnswer) => void;

/** Headers that an answer with this status must carry. */
const requiredHeaders: Readonly<Record<number, readonly string[]>> = {
  401: ['www-authenticate'],
  429: ['retry-after'],
  503: ['retry-after'],
};

/** Headers that no answer has unless the document names them. */
const describedHeaders: readonly string[] = [
  'allow',
  'content-disposition',
  'content-location',
  'etag',
  'location',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
  'www-authenticate',
];

/** Faults of a value by one of the named schemas. */
export function findSchemaProblems(made: unknown, name: string, value: unknown): readonly string[] {
  const validate = openSchemas(made).compile({ $ref: `document#/components/schemas/${name}` });
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

function openSchemas(made: unknown): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  return ajv.addSchema({ $id: 'document', ...(closed(JSON.parse(JSON.stringify(made))) as object) });
}

/** The same document with schemas that name all properties of their objects. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, closed(member)]));
  const isOpen =
    members['type'] === 'object' && 'properties' in members && !('additionalProperties' in members);
  return isOpen ? { ...members, additionalProperties: false } : members;
}

export function createDocumentCheck(made: unknown): DocumentCheck {
  const document = made as DocumentObject;
  const ajv = openSchemas(made);
  const validators = new Map<string, ValidateFunction>();
  const forms = Object.keys(document.paths).map((path) => ({
    path,
    form: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}/?$`),
  }));

  return ({ method, path, status, headers, bytes }) => {
    const [place = ''] = path.split('?', 1);
    const found = forms.find(({ form }) => form.test(place));
    const operation = found && document.paths[found.path]?.[method.toLowerCase()];
    // Routes that tests add have no name.
    if (found === undefined || operation?.operationId === undefined) return;
    const name = `${method} ${found.path} ${status}`;
    const response = operation.responses[String(status)];
    assert.ok(response, `${name}: the document does not name this status`);
    const pointer =
      response.$ref ?? `#/paths/${escapePointer(found.path)}/${method.toLowerCase()}/responses/${status}`;
    const whole =
      response.$ref === undefined
        ? response
        : document.components.responses?.[response.$ref.split('/').at(-1) ?? ''];
    for (const header of ['x-request-id', ...(requiredHeaders[status] ?? [])])
      assert.ok(headers.has(header), `${name}: no ${header}`);
    const described = Object.keys(whole?.headers ?? {}).map((header) => header.toLowerCase());
    for (const header of describedHeaders)
      assert.ok(
        !headers.has(header) || described.includes(header),
        `${name}: the document does not name ${header}`,
      );
    const [mediaType = ''] = (headers.get('content-type') ?? '').split(';');
    if (bytes.length === 0 && whole?.content === undefined) return;
    assert.ok(whole?.content?.[mediaType], `${name}: the document does not name ${mediaType}`);
    if (!mediaType.endsWith('json')) return;
    const schema = `document${pointer}/content/${escapePointer(mediaType)}/schema`;
    const validate = validators.get(schema) ?? ajv.compile({ $ref: schema });
    validators.set(schema, validate);
    const body: unknown = JSON.parse(Buffer.from(bytes).toString());
    assert.ok(validate(body), `${name}: ${ajv.errorsText(validate.errors)}`);
    for (const reason of reasonsIn(body))
      assert.ok(
        documentedReasons.has(reason),
        `${name}: docs/api/errors.md does not list the reason ${reason}`,
      );
  };
}

/** Reasons, and codes in lower case: the first cell of each row. */
const documentedReasons: ReadonlySet<string> = new Set(
  [
    ...readFileSync(path.resolve(import.meta.dirname, '../../docs/api/errors.md'), 'utf8').matchAll(
      /^\| (\w+) \|/gm,
    ),
  ].map(([, reason = '']) => reason.toLowerCase()),
);

function reasonsIn(body: unknown): readonly string[] {
  const { errors = [], warnings = [] } = body as Readonly<Record<string, readonly { reason: string }[]>>;
  return [...errors, ...warnings].map(({ reason }) => reason);
}

const escapePointer = (text: string): string =>
  encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));
