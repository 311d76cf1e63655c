import { named } from './named.ts';
import type { FastifyReply, FastifyRequest, FastifySchemaCompiler } from 'fastify';
import { Type, type TSchema } from 'typebox';
import { CodedError, errorCode, type Log } from '../../core/index.ts';
import { scopeNames, type Oauth, type OauthErrorCode, type TokenRequest } from '../../service/oauth/index.ts';
import type { HttpEmit } from './events.ts';
import { ownAddress } from './own-address.ts';
import type { HispFastify, RouteModule } from './types.ts';

const basePath = '/oauth2/direct/v1';

/** Credentials and a handful of parameters; nothing here is long. */
const maxBodyBytes = 16_384;

const tokenResponse = Type.Object(
  {
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({ description: 'Seconds; always 3600.' }),
    access_token: Type.String(),
    scope: Type.String({ description: 'Space-delimited.' }),
  },
  {
    title: 'Token',
    examples: [
      {
        token_type: 'Bearer',
        expires_in: 3600,
        access_token: '8pJ2vPn5Zk0yq1c9eXw4tg',
        scope: 'provider-directory messaging.api',
      },
    ],
  },
);

const oauthError = Type.Object(
  {
    error: Type.String({ examples: ['invalid_request'] }),
    error_description: Type.Optional(Type.String({ examples: ['The form lacks the parameter grant_type'] })),
  },
  { title: 'OAuthError', description: 'RFC 6749 §5.2.' },
);

/**
 * The authorization server: token, revocation (RFC 7009) and metadata (RFC 8414), all in OAuth's own forms
 * (D25).
 */
export function tokenRoutes({
  oauth,
  log,
  emit,
  publicUrl,
}: {
  readonly oauth: Oauth;
  readonly log: Log;
  readonly emit: HttpEmit;
  readonly publicUrl?: string | undefined;
}): RouteModule {
  return (app) => {
    takeAnyBody(app);
    app.setErrorHandler((error, request, reply) => {
      emit('tokenRefused', { code: errorCode(error) }, { requestId: request.id, remoteAddress: request.ip });
      return sendOauthError(error, request, reply, log);
    });
    app.addHook('onRequest', async (_request, reply) => void forbidCaching(reply));
    app.post(
      `${basePath}/token`,
      { bodyLimit: maxBodyBytes, schema: tokenSchema, validatorCompiler: leaveToService },
      async (request, reply) => {
        const issued = await oauth.issueToken(readRequest(request));
        emit('tokenIssued', {}, { requestId: request.id });
        return reply.send({
          token_type: 'Bearer',
          expires_in: issued.expiresInSeconds,
          access_token: issued.accessToken,
          scope: issued.scopes.join(' '),
        });
      },
    );
    app.post(
      `${basePath}/revoke`,
      { bodyLimit: maxBodyBytes, schema: revokeSchema, validatorCompiler: leaveToService },
      async (request, reply) => {
        await oauth.revokeToken(readRequest(request));
        return reply.send({});
      },
    );
    for (const path of ['token', 'revoke']) refuseOtherMethods(app, `${basePath}/${path}`);
    app.get('/.well-known/oauth-authorization-server', { schema: metadataSchema }, async (request, reply) =>
      reply
        .header('Cache-Control', 'max-age=3600')
        .removeHeader('Pragma')
        .send(buildMetadata(publicUrl ?? ownAddress(request))),
    );
  };
}

// The bodies below are for the API document; a fault in a form is an OAuth error, which the service decides.
const leaveToService: FastifySchemaCompiler<unknown> = () => () => true;

const tokenForm = named('TokenRequest', {
  grant_type: Type.Literal('client_credentials'),
  scope: Type.Optional(
    Type.String({
      description: `Space-delimited list of ${scopeNames.join(', ')}; all of the client's if left out.`,
      examples: [scopeNames.join(' ')],
    }),
  ),
});

const revokeForm = named('RevocationRequest', { token: Type.String() });

const answer = (description: string, schema: TSchema) => ({
  description,
  content: { 'application/json': { schema } },
});

const oauthRefusals = {
  400: answer('Malformed, or a grant or scope that is not allowed.', oauthError),
  401: answer('Client authentication failed.', oauthError),
  405: answer('Only POST is supported.', oauthError),
  413: answer('The form is too large.', oauthError),
  429: answer('Too many requests.', oauthError),
  500: answer('The service failed.', oauthError),
  503: answer('Over capacity.', oauthError),
};

const metadata = Type.Object(
  {
    issuer: Type.String(),
    token_endpoint: Type.String(),
    revocation_endpoint: Type.String(),
    grant_types_supported: Type.Array(Type.String()),
    response_types_supported: Type.Array(Type.String()),
    token_endpoint_auth_methods_supported: Type.Array(Type.String()),
    revocation_endpoint_auth_methods_supported: Type.Array(Type.String()),
    scopes_supported: Type.Array(Type.String()),
    service_documentation: Type.String(),
  },
  { title: 'AuthorizationServerMetadata', description: 'RFC 8414 §2.' },
);

const metadataSchema = {
  operationId: 'getAuthorizationServerMetadata',
  summary: 'Metadata of the token service',
  description: 'RFC 8414.',
  tags: ['oauth'],
  security: [],
  response: {
    200: answer('The metadata.', metadata),
    400: oauthRefusals[400],
    429: oauthRefusals[429],
    500: oauthRefusals[500],
    503: oauthRefusals[503],
  },
};

const tokenSchema = {
  body: tokenForm,
  operationId: 'issueToken',
  summary: 'Get an access token',
  description:
    'The client credentials grant of RFC 6749 §4.4. Client id and secret go into the Authorization header (HTTP Basic); ' +
    'the form fields are `grant_type=client_credentials` and `scope`. Without `scope` the token gets every scope of the client.',
  tags: ['oauth'],
  consumes: ['application/x-www-form-urlencoded'],
  security: [{ client: [] }],
  response: { 200: answer('The token.', tokenResponse), ...oauthRefusals },
};

const revokeSchema = {
  body: revokeForm,
  operationId: 'revokeToken',
  summary: 'Revoke an access token',
  description: 'RFC 7009: form field `token`. The answer is 200 whether or not the token was known.',
  tags: ['oauth'],
  consumes: ['application/x-www-form-urlencoded'],
  security: [{ client: [] }],
  response: { 200: answer('The token is not valid anymore.', Type.Object({})), ...oauthRefusals },
};

// The service checks the content type itself, because the answer to a wrong one is an OAuth error, too.
function takeAnyBody(app: HispFastify): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBodyBytes }, (_request, body, done) =>
    done(null, body),
  );
}

function refuseOtherMethods(app: HispFastify, url: string): void {
  app.route({
    method: ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url,
    config: { refusesMethods: true },
    schema: { hide: true },
    exposeHeadRoute: false,
    handler: async (_request, reply) =>
      reply
        .code(405)
        .header('Allow', 'POST')
        .send({ error: 'invalid_request', error_description: 'Only POST is supported' }),
  });
}

function readRequest(request: FastifyRequest): TokenRequest {
  const [, query = ''] = request.url.split('?', 2);
  return {
    authorization: request.headers.authorization,
    contentType: request.headers['content-type'],
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
    query,
    remoteAddress: request.ip,
    requestId: request.requestId,
  };
}

function forbidCaching(reply: FastifyReply): FastifyReply {
  return reply.header('Cache-Control', 'no-store').header('Pragma', 'no-cache');
}

/** RFC 6749 §5.2; the texts are fixed, so that nothing from the request can get into them (OAUTH-14). */
const errorWords: Partial<
  Readonly<Record<OauthErrorCode, readonly [status: number, error: string, description: string]>>
> = {
  OAUTH_CLIENT_INVALID: [
    401,
    'invalid_client',
    'Client authentication failed: the Authorization header needs client id and secret (HTTP Basic)',
  ],
  OAUTH_CLIENT_UNAUTHORIZED: [400, 'unauthorized_client', 'The client is disabled or has no scope'],
  OAUTH_GRANT_UNSUPPORTED: [400, 'unsupported_grant_type', 'Only client_credentials is supported'],
  OAUTH_SCOPE_INVALID: [400, 'invalid_scope', 'A scope is unknown, malformed or not allowed for this client'],
  OAUTH_ATTEMPTS_EXCEEDED: [429, 'temporarily_unavailable', 'Too many requests; try again later'],
  OAUTH_OVERLOADED: [503, 'temporarily_unavailable', 'The service is over capacity; try again later'],
};

function sendOauthError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): FastifyReply {
  const [status, word, description] = errorWords[errorCode(error) as OauthErrorCode] ?? fromFramework(error);
  if (status === 500) log.error({ requestId: request.id, error }, 'a token request failed');
  if (status === 401) reply.header('WWW-Authenticate', 'Basic realm="openhisp", charset="UTF-8"');
  if (error instanceof CodedError && error.retryAfterSeconds !== undefined)
    reply.header('Retry-After', String(error.retryAfterSeconds));
  // A request that is refused before its route has not come to the hook.
  return forbidCaching(reply).code(status).send({ error: word, error_description: description });
}

function fromFramework(error: unknown): readonly [number, string, string] {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : 500;
  if (error instanceof CodedError && error.kind === 'rate-limited')
    return [429, 'temporarily_unavailable', 'Too many requests; try again later'];
  if (error instanceof CodedError && error.kind === 'unavailable')
    return [503, 'temporarily_unavailable', 'The service is over capacity; try again later'];
  if (errorCode(error) === 'OAUTH_REQUEST_INVALID' && error instanceof CodedError)
    return [400, 'invalid_request', error.publicMessage];
  if (error instanceof CodedError && error.kind === 'invalid-input')
    return [400, 'invalid_request', 'The request is malformed'];
  if (status === 413) return [413, 'invalid_request', `The form is larger than ${maxBodyBytes / 1024} KiB`];
  if (typeof status === 'number' && status >= 400 && status < 500)
    return [status, 'invalid_request', 'The request is malformed'];
  return [500, 'server_error', 'The service failed'];
}

function buildMetadata(publicUrl: string): Record<string, unknown> {
  return {
    issuer: publicUrl,
    token_endpoint: `${publicUrl}${basePath}/token`,
    revocation_endpoint: `${publicUrl}${basePath}/revoke`,
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    revocation_endpoint_auth_methods_supported: ['client_secret_basic'],
    scopes_supported: scopeNames,
    service_documentation: `${publicUrl}/docs`,
  };
}
