import { getServers } from 'node:dns';
import type { DnsServerAddress } from '../../lib/dns/index.ts';
import type { Config } from '../../platform/index.ts';

/** The recursive resolvers of the settings, or those of the system. */
export function resolversOf(config: Config): readonly DnsServerAddress[] {
  const texts = config.dns.resolvers.length > 0 ? config.dns.resolvers : getServers().map(withPort);
  return texts.map((text) => {
    const colon = text.lastIndexOf(':');
    return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
  });
}

function withPort(server: string): string {
  if (/^\[.*\]:\d+$|^[^:]+:\d+$/.test(server)) return server;
  return server.includes(':') ? `[${server}]:53` : `${server}:53`;
}
