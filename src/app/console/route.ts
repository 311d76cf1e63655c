import { Type, type TSchema } from 'typebox';
import { errorResponses } from '../http/index.ts';
import type { RouteAccess, RouteScope } from './types.ts';

interface RouteFacts<Params, Query, Body, Answer, Status> {
  readonly needs: RouteAccess;
  /** How delegated operators are confined; without it the route refuses them. */
  readonly scope?: RouteScope;
  /** Area, title and, if it needs one, a description, for the API document. */
  readonly about: readonly [tag: string, summary: string, description?: string];
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** Without it, the answer has no body. */
  readonly answer?: Answer;
  /** Of a good answer; 200 by default. */
  readonly status?: Status;
  /** The statuses of refusals, besides 401 and 403 of routes that need an operator. */
  readonly refuses?: readonly number[];
  /** Bytes; the listener's limit by default. */
  readonly maxBodyBytes?: number;
}

interface RouteOptions<Params, Query, Body, Answer, Status extends number> {
  readonly bodyLimit?: number;
  readonly config: { readonly permission: RouteAccess; readonly scope: RouteScope | undefined };
  readonly schema: {
    readonly params: Params;
    readonly querystring: Query;
    readonly body: Body;
    readonly response: Readonly<Record<Status, Answer>>;
  };
}

/**
 * The permission and the schema of one route of the console's API; fastify and the API document read both.
 */
export function route<
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Body extends TSchema | undefined = undefined,
  Answer extends object | undefined = undefined,
  Status extends number = 200,
>(facts: RouteFacts<Params, Query, Body, Answer, Status>): RouteOptions<Params, Query, Body, Answer, Status> {
  const {
    needs,
    scope,
    about,
    params,
    query,
    body,
    answer,
    status = 200,
    refuses = [],
    maxBodyBytes,
  } = facts;
  const [tag, summary, description = ''] = about;
  const access = needs === 'public' ? [] : [401, 403];
  const schema = {
    tags: [tag],
    summary,
    ...(description !== '' && { description }),
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body }),
    response: { [status]: answer ?? Type.Null(), ...errorResponses(...access, ...refuses) },
  };
  // Fastify takes a schema that is undefined for one that is wrong; its types take one that is absent for
  // `unknown`.
  return {
    ...(maxBodyBytes !== undefined && { bodyLimit: maxBodyBytes }),
    config: { permission: needs, scope },
    schema,
  } as unknown as RouteOptions<Params, Query, Body, Answer, Status>;
}

/** The answer of text in lines that is sent as it is made. */
export function streamOf(type: 'application/x-ndjson' | 'text/event-stream'): object {
  return { content: { [type]: { schema: Type.String() } } };
}
