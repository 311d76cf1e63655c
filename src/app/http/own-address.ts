import type { FastifyRequest } from 'fastify';

/**
 * The address of this service. The Host header is chosen by the caller, and a cache may serve the answer to
 * others (RFC 8414 §6.2).
 */
export function ownAddress({ protocol, socket }: FastifyRequest): string {
  const { localAddress = '127.0.0.1', localPort = 0 } = socket;
  const host = localAddress.replace(/^::ffff:(?=[\d.]+$)/, '');
  return `${protocol}://${host.includes(':') ? `[${host}]` : host}:${localPort}`;
}
