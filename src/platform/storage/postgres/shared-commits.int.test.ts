/**
 * Transactions that share a commit, when one of them or their connection fails: nobody is told success before
 * the commit, or failure after it.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { waitUntil } from '../../../../test/support/processes.ts';
import { createTcpProxy, type TcpProxy } from '../../../../test/support/tcp-proxy.ts';
import { createTestDatabase, needsBothEngines, type TestDatabase } from '../../../../test/support/storage.ts';
import { PlatformError } from '../../errors.ts';
import { openStorage } from '../open-storage.ts';
import type { Storage } from '../storage.ts';
import { things } from '../../../../test/support/things.ts';

interface Tables {
  thing: { id: string; size: number };
}

const { skip } = needsBothEngines();
const names = ['a', 'b', 'c', 'd', 'e'];
const lockTimeoutMs = 1_500;
const problems: string[] = [];
let database: TestDatabase;
let proxy: TcpProxy;
/** Its connections go through the proxy. */
let node: Storage;
let other: Storage;

before(async () => {
  if (skip !== false) return;
  database = await createTestDatabase('postgresql');
  proxy = await createTcpProxy(database.location.url ?? '');
  const options = { migrations: [things], busyTimeoutMs: lockTimeoutMs };
  other = await database.open(options);
  await other.migrate();
  node = await openStorage({ ...options, url: proxy.url, onProblem: (text) => problems.push(text) });
});
after(async () => {
  if (skip !== false) return;
  await node.close();
  await other.close();
  await proxy.close();
});
beforeEach(async () => {
  if (skip !== false) return;
  proxy.relay();
  problems.splice(0);
  await other.tables<Tables>().deleteFrom('thing').execute();
});

interface Ran {
  readonly works: string[];
  readonly followed: string[];
}

/** One transaction for each name, in one commit; `extra` runs in it, after its insert. */
async function runTogether(extra: (id: string, tx: Kysely<Tables>) => Promise<unknown> = async () => {}) {
  const ran: Ran = { works: [], followed: [] };
  const results = await Promise.allSettled(
    names.map((id) =>
      node.transaction(
        async (tx: Kysely<Tables>) => {
          ran.works.push(id);
          node.afterCommit(tx, () => ran.followed.push(id));
          await tx.insertInto('thing').values({ id, size: 1 }).execute();
          await extra(id, tx);
          return id;
        },
        { shareBy: id },
      ),
    ),
  );
  return { ...ran, outcomes: results.map(outcomeOf) };
}

function outcomeOf(result: PromiseSettledResult<string>): string {
  if (result.status === 'fulfilled') return result.value;
  return result.reason instanceof PlatformError ? result.reason.code : String(result.reason);
}

async function stored(): Promise<string[]> {
  const rows = await other.tables<Tables>().selectFrom('thing').select('id').orderBy('id').execute();
  return rows.map(({ id }) => id);
}

test('a group whose transactions another one has taken commits nothing', { skip }, async () => {
  const insertTogether = (ids: readonly string[], until: Promise<void>) =>
    Promise.all(
      ids.map((id) =>
        node.transaction(
          async (tx: Kysely<Tables>) => {
            await tx.insertInto('thing').values({ id, size: 1 }).execute();
            await until;
          },
          { shareBy: id },
        ),
      ),
    );
  for (let time = 0; time < 20; time++) {
    const end = Promise.withResolvers<void>();
    const before = node.counts().commits;
    const groups = [insertTogether([`a${time}`, `b${time}`], end.promise)];
    await sleep(20);
    groups.push(insertTogether([`c${time}`, `d${time}`], end.promise));
    await sleep(20);
    // Waits for either group, which both expect more.
    groups.push(insertTogether([`e${time}`], Promise.resolve()));
    end.resolve();
    await Promise.all(groups);
    // A group that finds nothing may still be ending.
    await sleep(20);
    assert.equal(node.counts().commits - before, 3, `round ${time}`);
  }
});

/** The server has the COMMIT, and works on it while the client already knows that its connection is lost. */
async function untilStored(): Promise<void> {
  await waitUntil(async () => (await stored()).length === names.length, { what: 'the commit' });
}

const unavailable = names.map(() => 'PLATFORM_STORAGE_UNAVAILABLE');

test(
  'a connection that is lost after COMMIT was sent: nobody is told success, and nothing runs again',
  { skip },
  async () => {
    proxy.cut({ at: 'commit\0', when: 'answered' });
    const { works, followed, outcomes } = await runTogether();
    assert.deepEqual(outcomes, unavailable);
    assert.deepEqual(works, names);
    assert.deepEqual(followed, []);
    // The server commits; a repeated call must find the row.
    await untilStored();
  },
);

test(
  'a connection that is lost before COMMIT arrives: all are told failure, and nothing is stored',
  { skip },
  async () => {
    proxy.cut({ at: 'commit\0', when: 'asked' });
    const { works, outcomes } = await runTogether();
    assert.deepEqual(outcomes, unavailable);
    assert.deepEqual(works, names);
    await sleep(100);
    assert.deepEqual(await stored(), []);
  },
);

/**
 * As `runTogether`, with nothing but statements that nobody waits for: they are sent together with COMMIT.
 */
async function queueTogether() {
  const insert = node.prepare<Tables, Tables['thing']>((on, { id, size }) =>
    on.insertInto('thing').values({ id, size }),
  );
  const ran: Ran = { works: [], followed: [] };
  const results = await Promise.allSettled(
    names.map((id) =>
      node.transaction(
        async (tx) => {
          ran.works.push(id);
          node.afterCommit(tx, () => ran.followed.push(id));
          insert.queue(tx, { id, size: 1 });
          return id;
        },
        { shareBy: id },
      ),
    ),
  );
  return { ...ran, outcomes: results.map(outcomeOf) };
}

test(
  'a connection that is lost with COMMIT and the statements before it unanswered: nobody is told success, nothing runs again',
  { skip },
  async () => {
    // The first time each statement is prepared; then it is sent together with what follows.
    assert.deepEqual((await queueTogether()).outcomes, names);
    await other.tables<Tables>().deleteFrom('thing').execute();
    proxy.cut({ at: 'commit\0', when: 'answered' });
    const answered = await queueTogether();
    assert.deepEqual(answered.outcomes, unavailable);
    assert.deepEqual(answered.works, names);
    assert.deepEqual(answered.followed, []);
    await untilStored();
    await other.tables<Tables>().deleteFrom('thing').execute();
    proxy.cut({ at: 'commit\0', when: 'asked' });
    const asked = await queueTogether();
    assert.deepEqual(asked.outcomes, unavailable);
    assert.deepEqual(asked.works, names);
    await sleep(100);
    assert.deepEqual(await stored(), []);
  },
);

test(
  'a statement that fails behind others, with COMMIT sent already: only its transaction fails',
  { skip },
  async () => {
    await other.tables<Tables>().insertInto('thing').values({ id: 'c', size: 0 }).execute();
    const { followed, outcomes } = await queueTogether();
    assert.deepEqual(outcomes, ['a', 'b', 'PLATFORM_STORAGE_DUPLICATE', 'd', 'e']);
    assert.deepEqual(followed.toSorted(), ['a', 'b', 'd', 'e']);
    assert.deepEqual(await stored(), names);
  },
);

test('a transaction without others runs once, also when it fails', { skip }, async () => {
  let runs = 0;
  const failing = node.transaction(
    async () => {
      runs++;
      throw new Error('on purpose');
    },
    { shareBy: 'a' },
  );
  await assert.rejects(failing, /on purpose/);
  assert.equal(runs, 1);
});

test('many rows in a transaction that shares its commit', { skip }, async () => {
  const rows = Array.from({ length: 45 }, (_, index) => [`r${String(index).padStart(2, '0')}`, index]);
  const count = await node.transaction(
    (tx) => node.bulkInsert(tx, { table: 'thing', columns: ['id', 'size'], rows }),
    { shareBy: 'a' },
  );
  assert.equal(count, 45);
  assert.deepEqual(
    await stored(),
    rows.map(([id]) => id),
  );
});

test(
  'a connection that is lost in the middle of a group: each runs again on another one, and is stored once',
  { skip },
  async () => {
    proxy.cut({ at: 'in the middle', when: 'asked' });
    let isFirst = true;
    const { followed, outcomes } = await runTogether(async (id, tx) => {
      if (id !== 'c' || !isFirst) return;
      isFirst = false;
      await sql`select 1 as ${sql.id('in the middle')}`.execute(tx);
    });
    assert.deepEqual(outcomes, names);
    assert.deepEqual(followed.toSorted(), names);
    assert.deepEqual(await stored(), names);
  },
);

test('a group in a deadlock: both sides are stored once', { skip }, async () => {
  await other
    .tables<Tables>()
    .insertInto('thing')
    .values([
      { id: 'x', size: 0 },
      { id: 'y', size: 0 },
    ])
    .execute();
  const grow = (tx: Kysely<Tables>, id: string) =>
    tx
      .updateTable('thing')
      .set((eb) => ({ size: eb('size', '+', 1) }))
      .where('id', '=', id)
      .execute();
  const both = Promise.withResolvers<void>();
  let reached = 0;
  const meet = async (): Promise<void> => {
    if (++reached === 2) both.resolve();
    await both.promise;
  };
  const outside = other.transaction(async (tx: Kysely<Tables>) => {
    // The group finds the deadlock, and is the one that is ended by it.
    await sql`set local deadlock_timeout = '1min'`.execute(tx);
    await grow(tx, 'y');
    await meet();
    await grow(tx, 'x');
  });
  const { works, followed, outcomes } = await runTogether(async (id, tx) => {
    if (id === 'b') await grow(tx, 'x').then(meet);
    if (id === 'd') await grow(tx, 'y');
  });
  await outside;
  assert.ok(works.length > names.length, 'the group ran again');
  assert.deepEqual(outcomes, names);
  assert.deepEqual(followed.toSorted(), names);
  const sizes = await other
    .tables<Tables>()
    .selectFrom('thing')
    .select('size')
    .where('id', 'in', ['x', 'y'])
    .execute();
  assert.deepEqual(sizes, [{ size: 2 }, { size: 2 }]);
});

test('one that waits for a lock in vain fails alone', { skip }, async () => {
  await other.tables<Tables>().insertInto('thing').values({ id: 'x', size: 0 }).execute();
  let isDone = false;
  const locked = Promise.withResolvers<void>();
  const holder = other.transaction(async (tx: Kysely<Tables>) => {
    await tx.selectFrom('thing').select('id').where('id', '=', 'x').forUpdate().execute();
    locked.resolve();
    // The server would end a transaction that does nothing.
    while (!isDone) await sql`select pg_sleep(0.05)`.execute(tx);
  });
  await locked.promise;
  const { outcomes } = await runTogether(async (id, tx) => {
    if (id === 'b') await tx.deleteFrom('thing').where('id', '=', 'x').execute();
  });
  isDone = true;
  await holder;
  assert.deepEqual(outcomes, ['a', 'PLATFORM_STORAGE_BUSY', 'c', 'd', 'e']);
  assert.deepEqual(await stored(), ['a', 'c', 'd', 'e', 'x']);
});

test(
  'what follows a commit and throws is reported; its caller and the others are told success',
  { skip },
  async () => {
    const { followed, outcomes } = await runTogether(async (id, tx) => {
      if (id !== 'b') return;
      node.afterCommit(tx, () => {
        throw new Error('on purpose');
      });
    });
    assert.deepEqual(outcomes, names);
    assert.deepEqual(followed, names);
    assert.match(problems.join(), /a step after a commit failed: .*on purpose/);
    await node.transaction(async (tx) => {
      node.afterCommit(tx, () => {
        throw new Error('alone');
      });
    });
    assert.match(problems.join(), /alone/);
  },
);

test('after a reported success, another connection reads the stored rows', { skip }, async () => {
  await Promise.all(
    names.map(async (id) => {
      await node.transaction(
        async (tx: Kysely<Tables>) => tx.insertInto('thing').values({ id, size: 1 }).execute(),
        { shareBy: id },
      );
      assert.ok((await stored()).includes(id));
    }),
  );
});
