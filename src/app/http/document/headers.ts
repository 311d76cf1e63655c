import type { JsonObject } from './name-schemas.ts';

const text = (description: string, example: string): JsonObject => ({
  description,
  schema: { type: 'string' },
  example,
});
const count = (description: string, example: number): JsonObject => ({
  description,
  schema: { type: 'integer', minimum: 0 },
  example,
});

/** Headers of answers, as components by their names on the wire. */
export const answerHeaders = {
  'X-Request-Id': text(
    "The caller's X-Request-Id if it is up to 128 letters, digits and . _ : -, else a new one. Quote it to the operator.",
    '3f0c4b1e-6a52-4f0e-9d53-0d3a4f8b7c21',
  ),
  'Retry-After': count('Seconds to wait before a retry.', 2),
  'WWW-Authenticate': text(
    'How to authenticate, and what is wrong with the token (RFC 6750 §3).',
    'Bearer realm="openhisp", error="invalid_token"',
  ),
  Allow: text('The methods of this path.', 'GET, POST'),
  'RateLimit-Limit': count('Size of a burst of requests.', 100),
  'RateLimit-Remaining': count('Requests left at this moment.', 99),
  'RateLimit-Reset': count('Seconds until another request is allowed; 0 if one is allowed now.', 0),
} as const satisfies Readonly<Record<string, JsonObject>>;

/** Accepted by every operation. */
export const requestIdParameter = {
  name: 'X-Request-Id',
  in: 'header',
  description: 'An id of yours for this request, which the answer and the records of the operator then have.',
  schema: { type: 'string', maxLength: 128, pattern: '^[A-Za-z0-9._:-]+$' },
} as const satisfies JsonObject;

export type AnswerHeader = keyof typeof answerHeaders;

export const rateLimitHeaders: readonly AnswerHeader[] = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
];

/** References to header components, by name. */
export function referTo(names: readonly AnswerHeader[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
