import type { FastifyReply, FastifyRequest } from 'fastify';
import { viewAsBuffer } from '../../../core/index.ts';
import {
  parseExport,
  resourceTypes,
  type BulkExport,
  type FhirDirectory,
  type FhirRequest,
} from '../../../service/directory/index.ts';
import { callerOf, readParameters } from '../directory-request.ts';
import { HttpError } from '../errors.ts';
import { ownAddress } from '../own-address.ts';
import { setRateLimitHeaders } from '../rate-limit-headers.ts';
import { sendRefusalBody } from '../refusal-body.ts';
import type { HispFastify, RouteModule } from '../types.ts';
import { fhirMediaType, fhirPath } from './outcome.ts';

export interface FhirRoutesOptions {
  readonly fhir: FhirDirectory;
  readonly version: string;
  readonly publicUrl: string | undefined;
}

/** The parameters of a search sent in a body. */
const maxBodyBytes = 16_384;

const schema = { hide: true } as const;

/**
 * Reads and searches, for tokens of the scope `provider-directory`; the capability statement for everybody.
 */
export function fhirRoutes({ fhir, version, publicUrl }: FhirRoutesOptions): RouteModule {
  const serverOf = (request: FastifyRequest): string => publicUrl?.replace(/\/$/, '') ?? ownAddress(request);

  const requestOf = (request: FastifyRequest, reply: FastifyReply): FhirRequest => ({
    caller: callerOf(request),
    base: `${serverOf(request)}${fhirPath}`,
    onLimits: (rateLimit) => setRateLimitHeaders(reply, rateLimit),
  });

  return (app) => {
    const onRequest = app.requireScope('provider-directory');
    takeForms(app);
    app.addHook('preHandler', refuseOtherFormats);

    app.get(`${fhirPath}/metadata`, { schema }, async (request, reply) => {
      const server = serverOf(request);
      const statement = fhir.capabilities({
        base: `${server}${fhirPath}`,
        version,
        tokenUrl: `${server}/oauth2/direct/v1/token`,
      });
      const isPretty = readParameters(request).some(
        ([name, value]) => name === '_pretty' && value === 'true',
      );
      return reply.type(fhirMediaType).send(JSON.stringify(statement, undefined, isPretty ? 2 : undefined));
    });

    for (const type of resourceTypes) {
      const search = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
        const answer = await fhir.search(type, allParameters(request), {
          ...requestOf(request, reply),
          isStrict: prefersHandling(request, 'strict'),
        });
        return reply.type(fhirMediaType).send(viewAsBuffer(answer.json));
      };
      app.get(`${fhirPath}/${type}`, { onRequest, schema }, search);
      app.post(`${fhirPath}/${type}/_search`, { onRequest, schema, bodyLimit: maxBodyBytes }, search);
      app.get<{ Params: { id: string } }>(
        `${fhirPath}/${type}/:id`,
        { onRequest, schema },
        async (request, reply) => {
          const answer = await fhir.read(type, request.params.id, {
            ...requestOf(request, reply),
            parameters: readParameters(request),
          });
          return reply.type(fhirMediaType).send(viewAsBuffer(answer.json));
        },
      );
    }
    addExport(app, fhir.bulk, (request) => `${serverOf(request)}${fhirPath}`);
  };
}

/**
 * Bulk Data Access: kick-off, status, files. An export is named by the active loads of the open sources, so
 * that each node can answer each of the requests; a file is written while it is sent, and is gone after the
 * next load.
 */
function addExport(app: HispFastify, bulk: BulkExport, baseOf: (request: FastifyRequest) => string): void {
  const onRequest = app.requireScope('provider-directory');
  app.get(`${fhirPath}/$export`, { onRequest, schema }, async (request, reply) => {
    if (!/(?:^|[,;\s])respond-async(?:[,;\s]|$)/i.test(preferOf(request))) {
      const detail = 'An export is begun with the header Prefer: respond-async.';
      throw new HttpError('HTTP_REQUEST_INVALID', 'not asynchronous', {
        problems: [{ field: 'Prefer', reason: 'required', detail }],
      });
    }
    const begun = await bulk.begin(
      readParameters(request),
      prefersHandling(request, 'lenient'),
      callerOf(request),
    );
    // The request travels in the address of the status, so that the manifest repeats it as it was.
    const status = `${baseOf(request)}/$export-status/${begun.tag}${queryOf(request)}`;
    reply.code(202).header('Content-Location', status);
    return begun.outcome === undefined
      ? reply.send()
      : reply.type(fhirMediaType).send(JSON.stringify(begun.outcome));
  });
  app.get<{ Params: { tag: string } }>(
    `${fhirPath}/$export-status/:tag`,
    { onRequest, schema },
    async (request, reply) => {
      const scope = parseExport(readParameters(request), true);
      const manifest = await bulk.manifest(
        { ...scope, tag: request.params.tag },
        baseOf(request),
        queryOf(request),
      );
      return reply.type('application/json').send(JSON.stringify(manifest));
    },
  );
  // Nothing is kept for an export.
  app.delete(`${fhirPath}/$export-status/:tag`, { onRequest, schema }, async (_request, reply) =>
    reply.code(202).send(),
  );
  for (const type of resourceTypes) {
    app.get<{ Params: { tag: string } }>(
      `${fhirPath}/$export-file/:tag/${type}.ndjson`,
      { onRequest, schema },
      async (request, reply) => {
        const { since } = parseExport(readParameters(request), true);
        const stream = await bulk.file(request.params.tag, type, since, callerOf(request));
        return reply.type('application/fhir+ndjson').send(stream);
      },
    );
  }
}

function takeForms(app: HispFastify): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: maxBodyBytes },
    (_request, body, done) => done(null, body),
  );
}

function allParameters(request: FastifyRequest): [string, string][] {
  const sent = readParameters(request);
  if (typeof request.body === 'string') sent.push(...new URLSearchParams(request.body));
  return sent;
}

function prefersHandling(request: FastifyRequest, handling: 'strict' | 'lenient'): boolean {
  const found = /(?:^|[,;\s])handling\s*=\s*"?(strict|lenient)"?(?:[,;\s]|$)/i.exec(preferOf(request));
  return found?.[1]?.toLowerCase() === handling;
}

/** As it was sent, with its question mark. */
function queryOf({ raw: { url = '' } }: FastifyRequest): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at);
}

function preferOf({ headers: { prefer } }: FastifyRequest): string {
  return Array.isArray(prefer) ? prefer.join(', ') : (prefer ?? '');
}

/** FHIR R4: General parameters. Only JSON is spoken; `_format` counts more than the header. */
async function refuseOtherFormats(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const asked = allParameters(request).find(([name]) => name === '_format')?.[1];
  // An unescaped + of `application/fhir+json` is a blank in a query.
  const isJson =
    asked === undefined || asked === ''
      ? acceptsJson(request.headers.accept)
      : /^(?:json|text\/json|application\/(?:fhir[+ ])?json)(?:;|$)/i.test(asked);
  if (isJson) return;
  const detail = 'The answer can only be had as application/fhir+json.';
  await sendRefusalBody(request, reply, 406, [{ field: '', reason: 'not_acceptable', detail }]);
}

// With another version of FHIR than this one, or with `q=0`, a media type is none that the client takes.
const otherVersion = /;\s*fhirVersion\s*=\s*(?!"?4\.0(?:\.[0-9]+)?(?:["\s;]|$))/i;
const notWanted = /;\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)/i;

function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  return accept
    .split(',')
    .some(
      (range) =>
        /json|\*\/\*|application\/\*/i.test(range) && !otherVersion.test(range) && !notWanted.test(range),
    );
}
