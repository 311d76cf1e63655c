import { errorResponses } from '../../http/index.ts';

/** What the API document says of a route. */
export function describe(
  tag: string,
  summary: string,
  description = '',
): { readonly tags: string[]; readonly summary: string; readonly description?: string } {
  return { tags: [tag], summary, ...(description !== '' && { description }) };
}

/** The refusals of a route: those of a session that is over and of a role that may not are always among them. */
export function refusals(...statuses: readonly number[]): ReturnType<typeof errorResponses> {
  return errorResponses(401, 403, ...statuses);
}
