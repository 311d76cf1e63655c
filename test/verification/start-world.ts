/** Verification over a real BIND behind a proxy that counts, with an index made of the given addresses. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { createManualClock, silentLog } from '../../src/core/index.ts';
import { createDnsResolver } from '../../src/lib/dns/index.ts';
import { createGuardedFetch } from '../../src/lib/fetch/index.ts';
import { createLdapClient } from '../../src/lib/ldap/index.ts';
import { createRevocationChecker, createIssuerFetcher, type Certificate } from '../../src/lib/pki/index.ts';
import { createIndexBuilder, openIndex } from '../../src/lib/provider-index/index.ts';
import { textFields, type ProviderRecord } from '../../src/lib/provider-record/index.ts';
import type { Storage } from '../../src/platform/index.ts';
import { createRecipientJudge } from '../../src/service/agent/index.ts';
import type { ListedAddresses } from '../../src/service/directory/index.ts';
import {
  loadVerification,
  setRunning,
  type Verification,
  type VerificationOptions,
} from '../../src/service/verification/index.ts';
import type { VerificationTables } from '../../src/service/verification/tables.ts';
import { at } from '../direct/support/test-pki.ts';
import { startDnsProxy, type DelayOf, type DnsProxy } from '../support/dns-proxy.ts';
import { startNamed, type NamedZone } from '../support/named.ts';
import { createDeadline } from '../support/time-scale.ts';

export interface WorldOptions {
  readonly zones: readonly NamedZone[];
  readonly anchors: readonly Certificate[];
  readonly delayOf?: DelayOf;
  /** Timeout of a server's answer in milliseconds. Default 5000: longer than packets wait on a busy machine. */
  readonly dnsTimeoutMs?: number;
  /** Rounds of `dnsTimeoutMs` per question. Default 1. */
  readonly attempts?: number;
}

export interface VerificationWorld {
  readonly proxy: DnsProxy;
  /** A job of one node over the storage; closed with the world. */
  start(
    storage: Storage,
    listed: () => ListedAddresses | undefined,
    changes?: Partial<VerificationOptions>,
  ): Verification;
  close(): Promise<void>;
}

/** Fast enough for tests of everything but the pace. */
export const quick = {
  rates: { total: 10_000, perServer: 10_000, perDomain: 10_000, judged: 1_000_000 },
  timing: { intervalMs: 3_600_000, retryMs: 3_600_000, samples: 20, spreadMs: 0 },
  slots: 8,
  lookMs: 20,
} as const;

export async function startWorld({
  zones,
  anchors,
  delayOf,
  dnsTimeoutMs = 5_000,
  attempts = 1,
}: WorldOptions): Promise<VerificationWorld> {
  const named = await startNamed(zones);
  const proxy = await startDnsProxy(named.port, delayOf);
  const clock = createManualClock(at);
  const closing: (() => Promise<void>)[] = [];
  const startVerification = await loadVerification();
  return {
    proxy,
    start(storage, listAddresses, changes = {}) {
      const dns = createDnsResolver({
        servers: [{ host: '127.0.0.1', port: proxy.port }],
        timeoutMs: dnsTimeoutMs,
        attempts,
        clock,
      });
      const fetch = createGuardedFetch({ allowPrivate: true, timeoutMs: 5_000, maxBytes: 1_000_000 });
      const verification = startVerification({
        storage,
        clock,
        log: silentLog,
        listAddresses,
        sources: { dns, ldap: createLdapClient({ dns, allowPrivate: true, timeoutMs: 5_000 }), fetch, clock },
        judgeWith: (paced) =>
          createRecipientJudge({
            clock,
            trust: { findAnchors: async () => anchors, listDomains: async () => ['one.example'] },
            fetchIssuers: createIssuerFetcher({ fetch: paced, now: () => clock.now() }),
            checkRevocation: createRevocationChecker({ fetch: paced }),
          }),
        isMailWaiting: async () => false,
        ...quick,
        ...changes,
      });
      closing.push(async () => {
        await verification.close();
        await dns.close();
      });
      return verification;
    },
    async close() {
      for (const close of closing.toReversed()) await close();
      await proxy.stop();
      await named.stop();
    },
  };
}

/** An index of records that have nothing but an address. */
export function listOf(addresses: readonly string[], revision = 1): ListedAddresses {
  const builder = createIndexBuilder();
  for (const [index, directAddress] of addresses.entries()) {
    const texts = Object.fromEntries(textFields.map((field) => [field, '']));
    builder.add({ id: index + 1, ...texts, directAddress } as unknown as ProviderRecord);
  }
  return { revision, list: openIndex(builder.finish()).addresses };
}

export async function startRunning(storage: Storage, isRunning = true): Promise<void> {
  await setRunning({ storage, audit: { recordIn: async () => {} } }, isRunning);
}

export async function readStates(storage: Storage): Promise<Record<string, string>> {
  const rows = await storage
    .tables<VerificationTables>()
    .selectFrom('verification_address')
    .select(['address_key', 'state', 'reason'])
    .orderBy('address_key')
    .execute();
  return Object.fromEntries(rows.map((row) => [row.address_key, `${row.state} ${row.reason}`.trim()]));
}

/** Waits until every domain has completed a cycle. */
export async function untilChecked(storage: Storage, domains: number, withinMs = 60_000): Promise<void> {
  await until(async () => {
    const { checked } = await storage
      .tables<VerificationTables>()
      .selectFrom('verification_domain')
      .select((eb) => eb.fn.count<number>('checked_at').as('checked'))
      .executeTakeFirstOrThrow();
    return Number(checked) >= domains;
  }, withinMs);
}

export async function until(condition: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const deadline = createDeadline(ms);
  while (!(await condition())) {
    assert.ok(!deadline.isOver(), 'the condition did not come true');
    await sleep(50);
  }
}
