/** What edges do when something is full, gone, slow to go on, or on another node. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Kysely } from 'kysely';
import { PlatformError } from '../../src/platform/index.ts';
import { alice, anna, bob, createTestNodes } from '../messaging/start-messaging.ts';
import { isPostgres } from '../support/storage.ts';
import { endsWith, startTestEdges, type Dialogue, type TestEdges } from './start-edges.ts';

type Options = Parameters<typeof startTestEdges>[0];

async function start(t: TestContext, options: Options = {}): Promise<TestEdges> {
  const world = await startTestEdges(options);
  t.after(() => world.close());
  return world;
}

async function openImap(t: TestContext, world: TestEdges, user: string, password: string): Promise<Dialogue> {
  const dialogue = endsWith(t, await world.open('imaps'));
  await dialogue.line();
  assert.match((await dialogue.imap(`LOGIN ${user} ${password}`)).result, /^OK/);
  return dialogue;
}

let count = 0;
const receive = (world: TestEdges, to: string): Promise<void> =>
  world.receive({
    from: bob,
    to: [to],
    inner: `From: ${bob}\nTo: ${to}\nSubject: s\nMessage-ID: <fault${++count}@beta.example>\n\nHello`,
  });

const skip = isPostgres ? false : 'several nodes share PostgreSQL alone';

test(
  'two nodes show one mailbox: IDLE on one tells of mail stored by the other, and a disabled account ends on both',
  { skip },
  async (t) => {
    const node = await createTestNodes();
    const [one, two] = [await start(t, { node }), await start(t, { node })];
    const { password } = await one.createAccount();
    const dialogue = await openImap(t, one, alice, password);
    await dialogue.imap('SELECT INBOX');
    dialogue.send('i IDLE\r\n');
    assert.equal(await dialogue.line(), '+ idling');
    await receive(two, alice);
    assert.equal(await dialogue.line(), '* 1 EXISTS');
    assert.equal(await dialogue.ask('DONE'), 'i OK done');
    await two.edges.accounts.disable(alice);
    // Without its announcement, a change on another node is known within a second.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    assert.match((await dialogue.imap('NOOP')).untagged[0] ?? '', /^\* BYE This account was disabled/);
  },
);

test('the queue of a session whose node died is taken over when its lease ends', async (t) => {
  const world = await start(t);
  const { accountId, password } = await world.createAccount();
  await receive(world, alice);
  assert.equal(await world.edges.leases.take(accountId, 'a session of a dead node'), true);
  const dialogue = endsWith(t, await world.open('line'));
  assert.equal(await dialogue.ask(`AUTH ${alice} ${password}`), 'OK');
  assert.equal(await dialogue.ask('CHECK'), 'NONE');
  await world.storage
    .tables<{ edge_lease: { until: number } }>()
    .updateTable('edge_lease')
    .set({ until: 1 })
    .execute();
  assert.match((await dialogue.ask('CHECK')) ?? '', /^MAIL/);
});

test('without memory for one more message a fetch is refused for now, and everything else goes on', async (t) => {
  const world = await start(t, { settings: { maxContentBytes: 2_000 } });
  const first = await world.createAccount();
  const second = await world.createAccount({ username: anna, addresses: [anna] });
  for (const address of [alice, anna])
    await world.receive({
      from: bob,
      to: [address],
      inner: `From: ${bob}\nTo: ${address}\nMessage-ID: <big-${address}>\n\n${'x'.repeat(1_500)}`,
    });
  const [one, two] = [
    await openImap(t, world, alice, first.password),
    await openImap(t, world, anna, second.password),
  ];
  await one.imap('SELECT INBOX');
  await two.imap('SELECT INBOX');
  assert.match((await one.imap('FETCH 1 BODY.PEEK[]')).result, /^OK/);
  assert.match(
    (await two.imap('FETCH 1 BODY.PEEK[]')).result,
    /^NO \[UNAVAILABLE\] Too much is being fetched/,
  );
  assert.match((await two.imap('FETCH 1 FLAGS')).result, /^OK/);
  one.end();
  for (let result = ''; !result.startsWith('OK');) {
    ({ result } = await two.imap('FETCH 1 BODY.PEEK[]'));
    if (!result.startsWith('OK')) await new Promise((resolve) => setTimeout(resolve, 20));
  }
});

test('on a full disk a submission is deferred before it is read', async (t) => {
  const world = await start(t, {
    disk: {
      requireRoom() {
        throw new PlatformError('PLATFORM_DISK_LOW', 'the disk is full');
      },
    },
  });
  const { password } = await world.createAccount();
  const dialogue = endsWith(t, await world.open('smtps'));
  await dialogue.line();
  for (let line = await dialogue.ask('EHLO client.example'); line?.[3] === '-';) line = await dialogue.line();
  const plain = Buffer.from(`\0${alice}\0${password}`).toString('base64');
  assert.match((await dialogue.ask(`AUTH PLAIN ${plain}`)) ?? '', /^235/);
  assert.match((await dialogue.ask(`MAIL FROM:<${alice}>`)) ?? '', /^452 4\.3\.1/);
});

test('a server that closes tells idle sessions, and the next one finds the same UIDs', async (t) => {
  const node = await createTestNodes();
  const world = await startTestEdges({ node });
  const { password } = await world.createAccount();
  await receive(world, alice);
  const dialogue = await openImap(t, world, alice, password);
  const { untagged } = await dialogue.imap('SELECT INBOX');
  const validity = untagged.find((line) => line.includes('UIDVALIDITY'));
  dialogue.send('i IDLE\r\n');
  await dialogue.line();
  await world.running.close();
  assert.match((await dialogue.line()) ?? '', /^\* BYE The server is closing/);
  await world.close();
  const next = await start(t, { node });
  const again = await openImap(t, next, alice, password);
  const selected = await again.imap('SELECT INBOX');
  assert.ok(validity !== undefined && selected.untagged.includes(validity));
  assert.deepEqual((await again.imap('UID SEARCH ALL')).untagged, ['* SEARCH 1']);
});

test('a revoked password signs nobody in, and a row that was changed by hand signs nobody in either', async (t) => {
  const world = await start(t);
  const { username, passwordId, password } = await world.createAccount();
  const dialogue = endsWith(t, await world.open('line'));
  assert.equal(await dialogue.ask(`AUTH ${username} ${password}`), 'OK');
  const next = await world.edges.accounts.rotatePassword(username);
  await world.edges.accounts.revokePassword(username, passwordId);
  const refused = endsWith(t, await world.open('line'));
  assert.match((await refused.ask(`AUTH ${username} ${password}`)) ?? '', /^ERROR User name or password/);
  assert.equal(await refused.ask(`AUTH ${username} ${next.password}`), 'OK');
  const db: Kysely<{ edge_account: { addresses: string } }> = world.storage.tables();
  await db
    .updateTable('edge_account')
    .set({ addresses: JSON.stringify([alice, anna]) })
    .execute();
  const forged = endsWith(t, await world.open('line'));
  assert.match((await forged.ask(`AUTH ${username} ${next.password}`)) ?? '', /^ERROR/);
});
