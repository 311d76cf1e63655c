/** Verification never floods a server, is not held up by one, and gives way to mail. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Storage } from '../../src/platform/index.ts';
import type { VerificationTables } from '../../src/service/verification/tables.ts';
import { createTestPki, type TestPki } from '../direct/support/test-pki.ts';
import type { DelayOf } from '../support/dns-proxy.ts';
import { certLine, type NamedZone } from '../support/named.ts';
import { needsPrograms } from '../support/processes.ts';
import { openTestStorage } from '../support/storage.ts';
import {
  listOf,
  quick,
  readStates,
  startRunning,
  startWorld,
  until,
  untilChecked,
  type VerificationWorld,
} from './start-world.ts';

let pki: TestPki;
before(async () => {
  pki = await createTestPki();
});

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** A zone with the domain's certificate. */
function certified(name: string): NamedZone {
  return { name, lines: [certLine('@', pki.issue({ rfc822Names: [], dnsNames: [name] }).der)] };
}

async function withWorld(
  zones: readonly NamedZone[],
  work: (world: VerificationWorld, storage: Storage) => Promise<void>,
  delayed: { readonly delayOf?: DelayOf; readonly dnsTimeoutMs?: number } = {},
): Promise<void> {
  const world = await startWorld({
    zones,
    anchors: [pki.root.certificate],
    ...delayed,
  });
  const storage = await openTestStorage();
  try {
    await startRunning(storage);
    await work(world, storage);
  } finally {
    await world.close();
    await storage.close();
  }
}

/** The least time in which `count` of the questions were put. */
function densest(seen: readonly { readonly atMs: number }[], count: number): number {
  let least = Infinity;
  for (let at = count - 1; at < seen.length; at++)
    least = Math.min(least, (seen[at]?.atMs ?? 0) - (seen[at - count + 1]?.atMs ?? 0));
  return least;
}

describe('a polite verification', needsPrograms('named'), () => {
  test('keeps to the rates in all, per name server and per domain, without bursts', async () => {
    const names = ['a', 'b', 'c'].map((name) => `${name}.example`);
    const zones = names.map((name) => ({ name, lines: [] }));
    await withWorld(zones, async (world, storage) => {
      const list = listOf(names.flatMap((name) => range(6).map((number) => `u${number}@${name}`)));
      world.start(storage, () => list, {
        rates: { total: 20, perServer: 1000, perDomain: 8, judged: 1_000_000 },
      });
      await untilChecked(storage, 3);
      const { seen } = world.proxy;
      // Two at one moment would be a burst; timers are exact to some milliseconds, and packets wait on a loaded machine.
      assert.ok(densest(seen, 11) >= 400, `eleven questions within ${densest(seen, 11)} ms`);
      for (const name of names) {
        const ofDomain = seen.filter((one) => one.name.endsWith(name));
        assert.ok(ofDomain.length >= 8, `${ofDomain.length} questions`);
        assert.ok(densest(ofDomain, 5) >= 350, `five questions within ${densest(ofDomain, 5)} ms`);
      }
    });
  });

  test('domains of one operator share a rate, however many there are', async () => {
    const names = range(8).map((number) => `d${number}.example`);
    const zones = names.map((name) => ({
      name,
      lines: ['@ IN NS ns1.hosting.example.', '@ IN NS ns2.hosting.example.'],
      hasOwnServer: false,
    }));
    await withWorld(zones, async (world, storage) => {
      const list = listOf(names.map((name) => `u@${name}`));
      world.start(storage, () => list, {
        rates: { total: 1000, perServer: 10, perDomain: 1000, judged: 1_000_000 },
      });
      await untilChecked(storage, 8);
      const servers = await storage
        .tables<VerificationTables>()
        .selectFrom('verification_domain')
        .select('name_server')
        .distinct()
        .execute();
      assert.deepEqual(servers, [{ name_server: 'hosting.example' }]);
      // Apart from the NS questions, which come first and belong to no operator yet.
      const later = world.proxy.seen.slice(names.length);
      assert.ok(later.length >= 16, `${later.length} questions`);
      assert.ok(densest(later, 6) >= 350, `six questions within ${densest(later, 6)} ms`);
    });
  });

  test('a slow and a dead name server hold up no other domain, and the dead one is asked little', async () => {
    const quickNames = range(20).map((number) => `q${number}.example`);
    const zones = [...quickNames.map(certified), certified('slow.example'), certified('dead.example')];
    const delayOf: DelayOf = (name) =>
      name.endsWith('slow.example') ? 150 : name.endsWith('dead.example') ? Infinity : 0;
    await withWorld(
      zones,
      async (world, storage) => {
        const addresses = [
          ...range(60).flatMap((number) => [`u${number}@slow.example`, `u${number}@dead.example`]),
          ...quickNames.map((name) => `u@${name}`),
        ];
        const list = listOf(addresses);
        const start = performance.now();
        world.start(storage, () => list, { timing: { ...quick.timing, samples: 100 }, slots: 4 });
        await until(
          async () =>
            Object.keys(await readStates(storage)).filter((key) => key.startsWith('u@q')).length === 20,
        );
        const quickMs = performance.now() - start;
        await untilChecked(storage, 22);
        const allMs = performance.now() - start;
        assert.ok(allMs > 60 * 150, `all took ${allMs} ms`);
        assert.ok(quickMs < allMs / 2, `${quickMs} ms of ${allMs} ms`);
        const states = await readStates(storage);
        assert.match(states['u7@dead.example'] ?? '', /^unreachable/);
        assert.match(states['u7@slow.example'] ?? '', /^trusted/);
        const toUnreachable = world.proxy.seen.filter(({ name }) => name.endsWith('dead.example'));
        assert.ok(toUnreachable.length <= 6, `${toUnreachable.length} questions about sixty addresses`);
      },
      { delayOf, dnsTimeoutMs: 2_000 },
    );
  });

  test('a domain that does not answer is asked again later each time', async () => {
    await withWorld(
      [{ name: 'dead.example', lines: [] }],
      async (world, storage) => {
        const list = listOf(['u@dead.example']);
        const timing = { ...quick.timing, retryMs: 100, intervalMs: 1_000_000 };
        const limits = { failuresBeforeBackOff: 100 };
        world.start(storage, () => list, { timing, limits });
        const readRow = () =>
          storage
            .tables<VerificationTables>()
            .selectFrom('verification_domain')
            .selectAll()
            .executeTakeFirstOrThrow();
        await until(async () => (await readRow().catch(() => undefined))?.failures === 3);
        const row = await readRow();
        const waitMs = Number(row.next_attempt_at) - storage.clock.now().getTime();
        assert.ok(waitMs > 100 && waitMs <= 400, `${waitMs} ms`);
      },
      // No long wait for queries that nobody answers.
      { delayOf: () => Infinity, dnsTimeoutMs: 200 },
    );
  });

  test('while mail waits nothing is asked, and then it continues', async () => {
    const names = range(10).map((number) => `m${number}.example`);
    await withWorld(names.map(certified), async (world, storage) => {
      const list = listOf(names.map((name) => `u@${name}`));
      let waits = false;
      let looks = 0;
      const isMailWaiting = async (): Promise<boolean> => {
        looks++;
        return waits;
      };
      world.start(storage, () => list, {
        isMailWaiting,
        rates: { total: 20, perServer: 1000, perDomain: 1000, judged: 1_000_000 },
      });
      await until(() => world.proxy.seen.length >= 5);
      waits = true;
      const from = looks;
      await until(() => looks >= from + 2);
      // Queries already started are still sent: at most one per slot.
      const before = world.proxy.seen.length;
      await until(() => looks >= from + 40);
      assert.ok(world.proxy.seen.length <= before + quick.slots, `${world.proxy.seen.length - before} more`);
      const still = world.proxy.seen.length;
      const fromThen = looks;
      await until(() => looks >= fromThen + 40);
      assert.equal(world.proxy.seen.length, still);
      waits = false;
      await untilChecked(storage, 10);
    });
  });

  test('whether mail waits is read only while verification runs', async () => {
    await withWorld([certified('o.example')], async (world, storage) => {
      await startRunning(storage, false);
      const list = listOf(['u@o.example']);
      let looks = 0;
      const node = world.start(storage, () => list, {
        isMailWaiting: async () => {
          looks++;
          return false;
        },
      });
      await node.refresh();
      await node.refresh();
      assert.equal(looks, 0);
      await startRunning(storage);
      await untilChecked(storage, 1);
      assert.ok(looks > 0);
    });
  });

  test('a question whether mail waits that cannot be answered counts as mail', async () => {
    await withWorld([certified('m.example')], async (world, storage) => {
      const list = listOf(['u@m.example']);
      let looks = 0;
      let isBroken = true;
      world.start(storage, () => list, {
        isMailWaiting: async () => {
          looks++;
          if (isBroken) throw new Error('no database');
          return false;
        },
      });
      await until(() => looks >= 20);
      assert.deepEqual(world.proxy.seen, []);
      isBroken = false;
      await untilChecked(storage, 1);
    });
  });

  test('two nodes share the domains and ask each once; a pause holds on both', async () => {
    const names = range(30).map((number) => `n${number}.example`);
    await withWorld(names.map(certified), async (world, storage) => {
      const list = listOf(names.map((name) => `u@${name}`));
      const nodes = [world.start(storage, () => list), world.start(storage, () => list)];
      await untilChecked(storage, 30);
      const asked = world.proxy.seen.filter(({ name }) => names.includes(name));
      // NS and CERT at the domain.
      assert.equal(asked.length, 60);
      assert.equal(Object.keys(await readStates(storage)).length, 30);
      await startRunning(storage, false);
      await storage
        .tables<VerificationTables>()
        .updateTable('verification_domain')
        .set({ next_attempt_at: 0 })
        .execute();
      // Each node has seen the pause by then.
      await Promise.all(nodes.map((node) => node.refresh()));
      const { length } = world.proxy.seen;
      await Promise.all(nodes.map((node) => node.refresh()));
      assert.equal(world.proxy.seen.length, length);
      await startRunning(storage);
      await until(() => world.proxy.seen.length > length);
    });
  });

  test('a domain with many addresses and one certificate costs a sample, and its pieces continue after a restart', async () => {
    const count = 3000;
    await withWorld([certified('large.example')], async (world, storage) => {
      const list = listOf(range(count).map((number) => `u${number}@large.example`));
      const first = world.start(storage, () => list);
      const done = async (): Promise<number> => Object.keys(await readStates(storage)).length;
      await until(async () => (await done()) >= 200);
      await first.close();
      const before = await done();
      assert.ok(before < count, `${before} before the restart`);
      world.start(storage, () => list);
      await untilChecked(storage, 1);
      assert.equal(await done(), count);
      const { length } = world.proxy.seen.filter(({ name }) => name !== 'large.example');
      assert.ok(length >= 5 && length <= 60, `${length} questions about single addresses`);
    });
  });

  test('addresses that cost no question are judged no faster than their rate, which mail can bear', async () => {
    const [count, judged] = [300, 100];
    await withWorld([certified('large.example')], async (world, storage) => {
      const list = listOf(range(count).map((number) => `u${number}@large.example`));
      const startedAt = performance.now();
      world.start(storage, () => list, { rates: { ...quick.rates, judged } });
      await untilChecked(storage, 1);
      const leastMs = ((count - 10) / judged) * 1000;
      assert.ok(performance.now() - startedAt >= leastMs * 0.95, 'one turn after the other');
    });
  });

  test('an address with its own certificate makes all addresses of its domain be asked', async () => {
    const zone = certified('mixed.example');
    const own = pki.issue({ rfc822Names: ['u3@mixed.example'], issuer: pki.untrustedCa }).der;
    await withWorld(
      [{ ...zone, lines: [...zone.lines, certLine('u3', own), certLine('u33', own)] }],
      async (world, storage) => {
        const list = listOf(range(50).map((number) => `u${number}@mixed.example`));
        // In time every address is in a sample.
        const timing = { ...quick.timing, samples: 20, intervalMs: 200 };
        world.start(storage, () => list, { timing });
        await until(async () => {
          const states = await readStates(storage);
          return [3, 33].every((number) => states[`u${number}@mixed.example`]?.startsWith('discoverable'));
        });
        assert.match((await readStates(storage))['u4@mixed.example'] ?? '', /^trusted/);
      },
    );
  });

  test('deletes the results of addresses that the directory no longer has', async () => {
    await withWorld([certified('old.example'), certified('new.example')], async (world, storage) => {
      let list = listOf(['a@old.example', 'a@new.example', 'b@new.example']);
      const timing = { ...quick.timing, intervalMs: 200 };
      world.start(storage, () => list, { timing });
      await untilChecked(storage, 2);
      list = listOf(['b@new.example'], 2);
      await until(async () => Object.keys(await readStates(storage)).join() === 'b@new.example');
    });
  });
});
