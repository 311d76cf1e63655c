import { hash } from 'node:crypto';
import { Type } from 'typebox';
import { errorResponses } from './envelope.ts';
import type { RouteModule } from './types.ts';

/** Anchors change every few years; one hour saves a partner who polls often useless requests. */
const maxAgeSeconds = 3600;

/**
 * `/trust-bundle.p7b`: the anchors by which partners come to trust the addresses of this operator, for their
 * HISPs to poll (BUNDLE-06). For everybody, since anchors are public.
 */
export function trustBundleRoute(bundle: Uint8Array): RouteModule {
  const etag = `"${hash('sha256', bundle)}"`;
  return (app) => {
    app.get('/trust-bundle.p7b', { schema, validatorCompiler: () => () => true }, async (request, reply) => {
      reply.header('ETag', etag).header('Cache-Control', `public, max-age=${maxAgeSeconds}`);
      if (names(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type('application/pkcs7-mime').send(Buffer.from(bundle));
    });
  };
}

const schema = {
  operationId: 'getTrustBundle',
  summary: 'Anchors of this service, for partners',
  description:
    'A trust bundle (PKCS #7 without signer, DER): what to trust in order to trust addresses of this operator.',
  tags: ['operation'],
  security: [],
  headers: Type.Object({
    'If-None-Match': Type.Optional(Type.String({ description: 'ETag of the anchors that you have.' })),
  }),
  response: {
    200: {
      description: 'The bundle.',
      headers: { ETag: { type: 'string', description: 'ETag of the anchors; send it as If-None-Match.' } },
      content: { 'application/pkcs7-mime': { schema: { type: 'string', format: 'binary' } } },
    },
    304: { type: 'null', description: 'The anchors have not changed.' },
    ...errorResponses(),
  },
};

/** RFC 9110 §13.1.2: a list of tags, perhaps weak ones, or a star. */
function names(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
