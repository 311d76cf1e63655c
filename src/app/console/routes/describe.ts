import { errorResponses } from '../../http/index.ts';

/** The description of a route in the API document. */
export function describe(
  tag: string,
  summary: string,
  description = '',
): { readonly tags: string[]; readonly summary: string; readonly description?: string } {
  return { tags: [tag], summary, ...(description !== '' && { description }) };
}

/** The error responses of a route, including 401 (no session) and 403 (permission missing). */
export function refusals(...statuses: readonly number[]): ReturnType<typeof errorResponses> {
  return errorResponses(401, 403, ...statuses);
}

/** The response schema of text in lines that is sent as it is made. */
export function streamOf(type: 'application/x-ndjson' | 'text/event-stream'): object {
  return { content: { [type]: { schema: { type: 'string' } } } };
}
