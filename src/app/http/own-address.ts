import type { FastifyRequest } from 'fastify';

/** Where this service was reached. The Host header is the caller's word, and a cache may keep the answer for others (RFC 8414 §6.2). */
export function ownAddress({ protocol, socket }: FastifyRequest): string {
  const { localAddress = '127.0.0.1', localPort = 0 } = socket;
  const host = localAddress.replace(/^::ffff:(?=[\d.]+$)/, '');
  return `${protocol}://${host.includes(':') ? `[${host}]` : host}:${localPort}`;
}
