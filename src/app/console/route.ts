import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import { Type, type Static, type TSchema } from 'typebox';
import { errorResponses } from '../http/index.ts';
import type { ConsoleApp, RouteAccess, RouteScope } from './types.ts';

type ValueOf<Schema> = Schema extends TSchema ? Static<Schema> : unknown;

/** The names in a path, such as `domain` and `id` in `/domains/:domain/keys/:id`. */
type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type ParamsOf<Params, Path extends string> = Params extends TSchema
  ? Static<Params>
  : Readonly<Record<NamesIn<Path>, string>>;

/** The permission, the schema and the work of one route; fastify and the API document read the first two. */
interface RouteFacts<Path extends string, Params, Query, Body, Answer> {
  readonly needs: RouteAccess;
  /** How delegated operators are confined; without it the route refuses them. */
  readonly scope?: RouteScope;
  /** Area, title and, if it needs one, a description, for the API document. */
  readonly about: readonly [tag: string, summary: string, description?: string];
  /** Of the names in the path that are more than text. */
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** Without it, the answer has no body. */
  readonly answer?: Answer;
  /** Of a good answer; 200 by default. */
  readonly status?: number;
  /** The statuses of refusals besides 400, 401 and 403 for operators, and 404 for a name in the path. */
  readonly refuses?: readonly number[];
  /** Bytes; the listener's limit by default. */
  readonly maxBodyBytes?: number;
  handle(
    request: FastifyRequest<{
      Params: ParamsOf<Params, Path>;
      Querystring: ValueOf<Query>;
      Body: ValueOf<Body>;
    }>,
    reply: FastifyReply,
  ): Promise<ValueOf<Answer> | FastifyReply>;
}

/** Adds one route of the console's API. */
export function route<
  const Path extends string,
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Body extends TSchema | undefined = undefined,
  Answer extends object | undefined = undefined,
>(
  app: ConsoleApp,
  method: 'get' | 'post' | 'patch' | 'delete' | 'put',
  path: Path,
  facts: RouteFacts<Path, Params, Query, Body, Answer>,
): void {
  const {
    needs,
    scope,
    params = namesIn(path),
    query,
    body,
    answer,
    status = 200,
    refuses = [],
    maxBodyBytes,
  } = facts;
  const [tag, summary, description = ''] = facts.about;
  const usual = [...(needs === 'public' ? [] : [401, 403]), ...(params === undefined ? [] : [404])];
  // Fastify takes a schema that is undefined for one that is wrong.
  const schema = {
    tags: [tag],
    summary,
    ...(description !== '' && { description }),
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body }),
    response: { [status]: answer ?? Type.Null(), ...errorResponses(...usual, ...refuses) },
  };
  app.route({
    method,
    url: path,
    ...(maxBodyBytes !== undefined && { bodyLimit: maxBodyBytes }),
    config: { permission: needs, scope },
    schema: schema as FastifySchema,
    handler(request, reply) {
      reply.code(status);
      return facts.handle(request as Parameters<typeof facts.handle>[0], reply);
    },
  });
}

const maxNameLength = 512;

/** Undefined for a path without names. */
function namesIn(path: string): TSchema | undefined {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  if (names.length === 0) return undefined;
  return Type.Object(
    Object.fromEntries(names.map((name) => [name, Type.String({ maxLength: maxNameLength })])),
  );
}

/** The answer of text in lines that is sent as it is made. */
export function streamOf(type: 'application/x-ndjson' | 'text/event-stream'): object {
  return { content: { [type]: { schema: Type.String() } } };
}
