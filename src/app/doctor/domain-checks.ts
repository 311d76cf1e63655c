import { isIPv6 } from 'node:net';
import { errorText, type Clock } from '../../core/index.ts';
import { createDnsResolver, type DnsAnswer, type DnsResolver } from '../../lib/dns/index.ts';
import type { Config, Storage } from '../../platform/index.ts';
import type { Oauth } from '../../service/oauth/index.ts';
import type { Trust } from '../../service/trust/index.ts';
import { resolversOf, type CheckedRecord, type DomainChecks } from '../server/index.ts';
import { listDomainRecords, type DomainRecord } from './domain-records.ts';
import { usualTimeServer } from './usual-time-server.ts';
import { readWorldPorts } from './world-ports.ts';

export interface DomainCheckParts {
  readonly config: Config;
  readonly storage: Storage;
  readonly trust: Trust;
  readonly oauth: Pick<Oauth, 'clients'>;
  readonly clock: Clock;
}

/** Short, because a user waits for the page. */
const timeoutMs = 5000;

/**
 * Checks of hosted domains in a running server: expected and published DNS records, and the doctor's
 * findings.
 */
export function createDomainChecks(parts: DomainCheckParts): DomainChecks {
  const { config, trust } = parts;

  async function withDns<R>(work: (dns: DnsResolver) => Promise<R>): Promise<R> {
    const dns = createDnsResolver({ servers: resolversOf(config), timeoutMs, attempts: 1, cache: false });
    try {
      return await work(dns);
    } finally {
      await dns.close();
    }
  }

  return {
    async compareRecords(domain) {
      const { records, notes } = await listDomainRecords(trust, domain, config);
      return { records: await withDns((dns) => compareAll(records, dns)), notes };
    },
    examine: (domain) =>
      withDns(async (dns) =>
        (await import('./examine.ts')).examineDomain(domain, {
          ...parts,
          clients: parts.oauth.clients,
          dns,
          openResolver: (server) =>
            createDnsResolver({ servers: [server], timeoutMs, attempts: 1, cache: false }),
          worldPorts: await readWorldPorts(config.dataDir),
          timeServer: usualTimeServer,
          timeoutMs,
        }),
      ),
  };
}

async function compareAll(
  records: readonly DomainRecord[],
  dns: DnsResolver,
): Promise<readonly CheckedRecord[]> {
  const asked = new Map<string, Promise<readonly string[] | Error>>();
  return Promise.all(
    records.map(async (record) => {
      const key = `${record.type} ${record.owner}`;
      const asking = asked.get(key) ?? ask(record, dns);
      asked.set(key, asking);
      return compare(record, await asking);
    }),
  );
}

function compare(record: DomainRecord, actual: readonly string[] | Error): CheckedRecord {
  if (actual instanceof Error)
    return { ...record, actual: undefined, state: 'unknown', text: `No answer: ${actual.message}` };
  if (actual.some((data) => isSame(data, record.data)))
    return { ...record, actual, state: 'ok', text: 'Published' };
  return actual.length === 0
    ? { ...record, actual, state: 'missing', text: 'Not published' }
    : { ...record, actual, state: 'different', text: 'A different value is published' };
}

/** Names are case-insensitive; base64 of a certificate is not. */
function isSame(one: string, other: string): boolean {
  const isNamed = one.length < 300;
  return isNamed ? one.toLowerCase() === other.toLowerCase() : one === other;
}

async function ask({ owner, type }: DomainRecord, dns: DnsResolver): Promise<readonly string[] | Error> {
  try {
    return await lookUp(owner, type, dns);
  } catch (error) {
    return new Error(errorText(error), { cause: error });
  }
}

async function lookUp(
  name: string,
  type: DomainRecord['type'],
  dns: DnsResolver,
): Promise<readonly string[]> {
  switch (type) {
    case 'MX':
      return write(await dns.resolveMx(name), ({ priority, exchange }) => `${priority} ${exchange}.`);
    case 'NS':
      return write(await dns.resolveNs(name), (host) => `${host}.`);
    case 'A':
      return write(await dns.resolveAddresses(name), (ip) => ip).filter((ip) => !isIPv6(ip));
    case 'AAAA':
      return write(await dns.resolveAddresses(name), (ip) => ip).filter(isIPv6);
    case 'SRV':
      return write(
        await dns.resolveSrv(name),
        ({ priority, weight, port, target }) => `${priority} ${weight} ${port} ${target}.`,
      );
    case 'CERT':
      return write(
        await dns.resolveCert(name),
        ({ certificateType, keyTag, algorithm, data }) =>
          `${certificateType} ${keyTag} ${algorithm} ${Buffer.from(data).toString('base64')}`,
      );
  }
}

function write<T>({ records }: DnsAnswer<T>, toText: (record: T) => string): string[] {
  return records.map(toText);
}
