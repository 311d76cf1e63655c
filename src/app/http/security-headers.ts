import type { FastifyInstance } from 'fastify';
import helmet from 'helmet';

export interface SecurityHeaders {
  /** All directives of the content security policy. */
  readonly directives: Readonly<Record<string, readonly string[]>>;
  /** Then browsers are told to come over TLS always. */
  readonly isHttps: boolean;
}

/** Tells browsers, with every answer, what they may do with it. No page may frame it. */
export function addSecurityHeaders(
  app: Pick<FastifyInstance, 'addHook'>,
  { directives, isHttps }: SecurityHeaders,
): void {
  // Once for all answers: building and checking a policy takes longer than setting its headers.
  const setHeaders = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: Object.fromEntries(Object.entries(directives).map(([name, values]) => [name, [...values]])),
    },
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
    strictTransportSecurity: isHttps ? { maxAge: 31_536_000, includeSubDomains: false } : false,
  });
  app.addHook('onRequest', ({ raw: request }, { raw: response }, done) =>
    setHeaders(request, response, (error) => done(error as Error | undefined)),
  );
}
