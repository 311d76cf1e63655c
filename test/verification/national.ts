/** A small nation of domains on a real BIND and OpenLDAP, with the state that every address must get. */
import { createKeyPair, type Certificate } from '../../src/lib/pki/index.ts';
import type { Storage } from '../../src/platform/index.ts';
import type { VerificationOptions } from '../../src/service/verification/index.ts';
import type { VerificationTables, VerifiedState } from '../../src/service/verification/tables.ts';
import { createTestPki, past } from '../direct/support/test-pki.ts';
import { certLine, type NamedZone } from '../support/named.ts';
import { startSlapd, type SlapdEntry } from '../support/slapd.ts';
import { listOf, quick, startRunning, startWorld, untilChecked } from './start-world.ts';

export interface NationOptions {
  readonly domains: number;
  /** Addresses of the largest domain, which has one certificate for all. */
  readonly largest: number;
  /** Domains served by the name servers of one operator. */
  readonly domainsPerOperator: number;
  readonly changes?: Partial<VerificationOptions>;
  readonly withinMs: number;
}

export interface NationFigures {
  readonly addresses: number;
  readonly seconds: number;
  /** Queries sent to BIND, those without an answer in time included. */
  readonly dnsQueries: number;
  /** All questions, as the job counts them. */
  readonly questions: number;
  readonly states: Readonly<Record<string, number>>;
  readonly expected: Readonly<Record<string, number>>;
  /** Most questions to the name servers of one operator in one second. */
  readonly busiestSecond: number;
}

type Kind = 'domain' | 'expired' | 'untrusted' | 'nothing' | 'own' | 'ldap' | 'silent';

/** One in twenty each, in this order; all others have a certificate for the domain. */
const rareKinds: readonly Kind[] = ['expired', 'untrusted', 'nothing', 'own', 'own', 'ldap', 'silent'];
const stateOfKind: Readonly<Record<Kind, VerifiedState>> = {
  domain: 'trusted',
  expired: 'expired',
  untrusted: 'discoverable',
  nothing: 'no-certificate',
  own: 'trusted',
  ldap: 'trusted',
  silent: 'unreachable',
};

export async function verifyNation(storage: Storage, options: NationOptions): Promise<NationFigures> {
  const pki = await createTestPki();
  const { publicKey } = await createKeyPair();
  const issue = (changes: object): Certificate => pki.issue({ publicKey, rfc822Names: [], ...changes });
  const zones = new Map<string, string[]>();
  const entries: SlapdEntry[] = [];
  const addresses: string[] = [];
  const expected: Record<string, number> = {};
  const ldapDomains: { zone: string; name: string }[] = [];

  for (let at = 0; at < options.domains; at++) {
    const zone = `op${Math.floor(at / options.domainsPerOperator)}.example`;
    const kind = rareKinds[at % 20] ?? 'domain';
    const name = kind === 'silent' ? `silent${at}` : `d${at}`;
    const domain = `${name}.${zone}`;
    const lines = zones.get(zone) ?? [];
    zones.set(zone, lines);
    const isLargest = at === rareKinds.length;
    const count = isLargest ? options.largest : 1 + (at % 4);
    for (let number = 0; number < count; number++) addresses.push(`u${number}@${domain}`);
    expected[stateOfKind[kind]] = (expected[stateOfKind[kind]] ?? 0) + count;
    if (kind === 'domain') lines.push(certLine(name, issue({ dnsNames: [domain] }).der));
    if (kind === 'expired') lines.push(certLine(name, issue({ dnsNames: [domain], notAfter: past(1) }).der));
    if (kind === 'untrusted')
      lines.push(certLine(name, issue({ dnsNames: [domain], issuer: pki.untrustedCa }).der));
    if (kind === 'nothing') lines.push(`${name} IN A 127.0.0.1`);
    if (kind === 'own')
      for (let number = 0; number < count; number++)
        lines.push(certLine(`u${number}.${name}`, issue({ rfc822Names: [`u${number}@${domain}`] }).der));
    if (kind === 'ldap') {
      ldapDomains.push({ zone, name });
      entries.push({ mail: domain, certificates: [issue({ dnsNames: [domain] }).der] });
    }
  }

  const slapd = await startSlapd(entries);
  for (const { zone, name } of ldapDomains)
    zones.get(zone)?.push(`_ldap._tcp.${name} IN SRV 0 0 ${slapd.port} ns`);
  const world = await startWorld({
    zones: [...zones].map(([name, lines]): NamedZone => ({ name, lines })),
    anchors: [pki.root.certificate],
    // A loaded machine drops packets.
    dnsTimeoutMs: 1_000,
    attempts: 3,
    delayOf: (name) => (/(^|\.)silent\d+\.op\d+\.example$/.test(name) ? Infinity : 0),
  });
  try {
    const list = listOf(addresses);
    await startRunning(storage);
    let questions = 0;
    const startedAt = performance.now();
    world.start(storage, () => list, { ...quick, onQuestion: () => questions++, ...options.changes });
    await untilChecked(storage, options.domains, options.withinMs);
    const seconds = (performance.now() - startedAt) / 1000;
    return {
      addresses: addresses.length,
      seconds,
      dnsQueries: world.proxy.seen.length,
      questions,
      states: await countStates(storage),
      expected,
      busiestSecond: busiest(world.proxy.seen),
    };
  } finally {
    await world.close();
    await slapd.stop();
  }
}

async function countStates(storage: Storage): Promise<Record<string, number>> {
  const rows = await storage
    .tables<VerificationTables>()
    .selectFrom('verification_address')
    .select(['state', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute();
  return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]));
}

function busiest(seen: readonly { readonly name: string; readonly atMs: number }[]): number {
  const counts = new Map<string, number>();
  let most = 0;
  for (const { name, atMs } of seen) {
    const key = `${name.split('.').at(-2)} ${Math.floor(atMs / 1000)}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    most = Math.max(most, count);
  }
  return most;
}
