import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../core/index.ts';
import type { PublicAddress } from './public-address.ts';

/** One cookie of the console. */
export interface ConsoleCookie {
  read(request: FastifyRequest): string | undefined;
  set(reply: FastifyReply, value: string, expiresAt: Date): void;
  clear(reply: FastifyReply): void;
}

/**
 * A cookie that scripts cannot read and that requests of other sites do not carry. With HTTPS the browser
 * restricts it to this host (`__Host-`); ports of one host share their cookies, so without HTTPS the port is
 * part of the name.
 */
export function createConsoleCookie(
  { address, clock }: { readonly address: () => PublicAddress; readonly clock: Clock },
  name: string,
  sameSite: 'strict' | 'lax' = 'strict',
): ConsoleCookie {
  const nameOf = (): string => {
    const { isHttps, host } = address();
    return isHttps ? `__Host-${name}` : `${name}_${host.split(':')[1] ?? '80'}`;
  };
  const options = (): CookieSerializeOptions => ({
    httpOnly: true,
    sameSite,
    path: '/',
    secure: address().isHttps,
  });
  return {
    read: (request) => request.cookies[nameOf()],
    set: (reply, value, expiresAt) =>
      void reply.setCookie(nameOf(), value, {
        ...options(),
        // Max-Age, not a date: the browser's clock may differ.
        maxAge: Math.floor((expiresAt.getTime() - clock.now().getTime()) / 1000),
      }),
    clear: (reply) => void reply.clearCookie(nameOf(), options()),
  };
}
