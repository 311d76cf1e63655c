import { named } from './named.ts';
import { STATUS_CODES } from 'node:http';
import { Type, type Static } from 'typebox';
import type { ErrorKind, FieldProblem } from '../../core/index.ts';

export const jsonMediaType = 'application/json; charset=utf-8';

/**
 * Each `reason` of a fault or a warning that is about a field or about the request as such; other refusals
 * have their code in lower case.
 */
export const fieldReasons: Readonly<Record<string, string>> = {
  required: 'The field is missing or empty.',
  unknown: 'The field or parameter is unknown.',
  invalid: 'The value does not have the form that the field needs.',
  wrong_type: 'The value is of another type than the field.',
  out_of_range: 'The number is too large or too small.',
  too_long: 'The text has too many characters.',
  too_many: 'The list has too many entries, or the body too many names or values.',
  too_few: 'The list has too few entries.',
  too_deep: 'The body has too many levels of arrays or objects.',
  duplicate: 'An object has this name twice, the request this header, or a list this entry.',
  repeated: 'The parameter is given twice.',
  not_utf8: 'The text is not UTF-8.',
  line_break: 'The text has a line break or NUL; one line is allowed.',
  control_character: 'The text has a control character, or one that is not seen.',
  forbidden: 'The address does not belong to this client, or is not active.',
  limit: 'Your organization has as many as it may have (409 if nothing else is wrong).',
  not_found: 'What the field names does not exist, or is not yours.',
  reused: 'The messageId belongs to another message (409).',
  empty: 'The attachment has no bytes.',
  not_allowed: 'Attachments of this type, name or content are not accepted.',
  type_mismatch: 'The content is not of the type that the attachment is sent as.',
  not_well_formed: 'The XML is not well formed: a fault in a C-CDA, otherwise a warning.',
  check_digit: 'Warning: the check digit of the LOINC code is wrong.',
  recommended: 'Warning: receivers need this field to match the patient.',
  unknown_charset: 'Warning: the character set that the sender names is unknown.',
  invalid_octets: 'Warning: some octets do not fit the character set that the sender names.',
  not_encoded: 'Warning: the content is not in the transfer encoding that the sender names.',
  unknown_encoding: 'Warning: the transfer encoding that the sender names is unknown.',
  text_after_base64: 'Warning: text behind the encoded content is not part of it.',
  repeated_field: 'Warning: a header field is there twice with different values; the first counts.',
  stray_line_end: 'Warning: a header field holds characters that some programs take for line ends.',
  checksum_mismatch: 'Warning: a file of an XDM package has another checksum than the package says.',
  hash_mismatch: 'Warning: a document of an XDM package has another hash than its metadata say.',
  size_mismatch: 'Warning: a document of an XDM package has another size than its metadata say.',
  archive_damaged: 'Warning: the directory of an XDM package is damaged; what was found was unpacked.',
  document_unreadable: 'Warning: a file of an XDM package could not be unpacked.',
  document_missing: 'Warning: the metadata of an XDM package name a document that it lacks.',
  metadata_missing: 'Warning: an XDM package has no METADATA.XML.',
  metadata_unreadable: 'Warning: the metadata of an XDM package cannot be read.',
  entry_warning: 'Warning: a value of a directory entry was left out or changed, or may be wrong.',
  not_stored: 'Warning: the value was not stored, as the detail says.',
  center_missing: 'radius has no center.',
  center_not_found: 'The gazetteer does not have the place.',
  radius_missing: 'Sorting by radius needs the parameter radius.',
  not_ready: 'A dependency of the service is not ready (/health/ready).',
  malformed: 'The body is not JSON, or the request is malformed.',
  method_not_allowed: 'The path exists for the methods in Allow (405).',
  too_slow: 'The request arrived too slowly (408).',
  too_large: 'The body, or the attachments together, are too large (413).',
  unsupported_media_type: 'The path does not accept the Content-Type or Content-Encoding (415).',
  request_headers_too_large: 'The request headers are larger than 16 KiB (431).',
  internal: 'An error in this service (500).',
  unavailable: 'The service is closing or over capacity (503).',
};

/** One fault of a request, or one warning. */
export const problemSchema = named('Problem', {
  field: Type.String({
    description: 'The parameter or body field with the error; empty if the error concerns none.',
  }),
  reason: Type.String({
    description: `A stable code for programs: ${Object.keys(fieldReasons).join(', ')}, or the code of the refusal in lower case.`,
  }),
  detail: Type.String({ description: 'A sentence for people.' }),
});

/** The body of every refusal of both services (Decision 0005). */
const errorEnvelope = Type.Object(
  {
    status: Type.Literal('Error'),
    code: Type.Integer({ description: 'The HTTP status.' }),
    message: Type.String({
      description:
        'The text that the directory specification gives for the status, else the name of the status.',
    }),
    errors: Type.Array(problemSchema),
    requestId: Type.String({ description: 'The X-Request-Id of the answer.' }),
  },
  { title: 'Error', description: 'The format of a refusal.' },
);

export type ErrorEnvelope = Static<typeof errorEnvelope>;

/** One status per kind of error: the only place where a status is chosen. */
export const statusOfKind: Readonly<Record<ErrorKind, number>> = {
  'invalid-input': 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  'too-large': 413,
  untrusted: 422,
  'rate-limited': 429,
  internal: 500,
  unavailable: 503,
};

/** Directory spec: Errors, word for word; further statuses have their plain name. */
const responseKeys: Readonly<Record<number, string>> = {
  400: 'Required Params Missing',
  401: 'Authentication fail',
  403: 'Forbidden',
  404: 'Not Found',
  413: 'Content Too Large',
  422: 'Unprocessable Content',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

export function responseKey(status: number): string {
  return responseKeys[status] ?? STATUS_CODES[status] ?? 'Error';
}

export function buildErrorEnvelope(
  status: number,
  problems: readonly FieldProblem[],
  requestId: string,
): ErrorEnvelope {
  return { status: 'Error', code: status, message: responseKey(status), errors: [...problems], requestId };
}

interface ErrorResponse {
  readonly description: string;
  readonly content: Readonly<Record<'application/json', { readonly schema: typeof errorEnvelope }>>;
}

/**
 * Response schemas for the refusals of a route, to be spread into its `response`:
 * `...errorResponses(401, 403)`. 400, 429, 500 and 503 are always among them: a query that is not UTF-8 and a
 * second Host header are refused everywhere.
 */
export function errorResponses(...statuses: readonly number[]): Record<number, ErrorResponse> {
  const all = [...new Set([400, ...statuses, 429, 500, 503])];
  return Object.fromEntries(
    all.map((status) => [
      status,
      {
        description: responseKey(status),
        content: { 'application/json': { schema: errorEnvelope } },
      },
    ]),
  );
}
