/** What edges do when something is full, gone, slow to go on, or on another node. */
import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createSecureContext } from 'node:tls';
import { sql, type Kysely } from 'kysely';
import { createConnection } from '../../src/app/edges/connection.ts';
import { serveLine } from '../../src/app/edges/line/index.ts';
import { servePop3 } from '../../src/app/edges/pop3/index.ts';
import type { Log } from '../../src/core/index.ts';
import { PlatformError } from '../../src/platform/index.ts';
import { alice, anna, bob, createTestNodes, waitUntil } from '../messaging/start-messaging.ts';
import { isPostgres } from '../support/storage.ts';
import { endsWith, openDialogue, startTestEdges, type Dialogue, type TestEdges } from './start-edges.ts';

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

const log: Log = { debug() {}, info() {}, warn() {}, error() {} };

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

test('the queue of a session that died with its node is taken over: at once by that node, by others when it ends', async (t) => {
  const world = await start(t);
  const { accountId, password } = await world.createAccount();
  await receive(world, alice);
  const { nodeId, runId } = world.storage.run;
  const change = (values: { readonly owner?: string; readonly until?: number }) =>
    world.storage
      .tables<{ edge_lease: { owner: string; until: number } }>()
      .updateTable('edge_lease')
      .set(values)
      .execute();
  assert.equal(await world.edges.leases.take(accountId, 'another session'), true);
  const dialogue = endsWith(t, await world.open('line'));
  assert.equal(await dialogue.ask(`AUTH ${alice} ${password}`), 'OK');
  assert.equal(await dialogue.ask('CHECK'), 'NONE');
  await change({ owner: `another node/${runId}/a session` });
  assert.equal(await dialogue.ask('CHECK'), 'NONE');
  for (const until of [1, Date.now() + 86_400_000]) {
    await change({ owner: `another node/${runId}/a session`, until });
    assert.match((await dialogue.ask('CHECK')) ?? '', /^MAIL/);
  }
  await change({ owner: `${nodeId}/a former run/a session`, until: Date.now() + 86_400_000 });
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
    /^NO \[UNAVAILABLE\] Too much is being sent or fetched/,
  );
  assert.match((await two.imap('FETCH 1 FLAGS')).result, /^OK/);
  // Nor is it handed over to a mail store now.
  const account = await world.edges.accounts.get(anna);
  const { messages } = await world.messaging.listInbox(world.clinic, { toDirectAddress: anna });
  const waiting = messages[0]?.messageId ?? '';
  await assert.rejects(world.stores.read(waiting, account.accountId), { code: 'EDGES_OVERLOADED' });
  one.end();
  for (let result = ''; !result.startsWith('OK');) {
    ({ result } = await two.imap('FETCH 1 BODY.PEEK[]'));
    if (!result.startsWith('OK')) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  two.end();
  await waitUntil(() => world.budget.used === 0, 'the end of the fetch');
  // An attempt gives its memory back, also one that fails.
  await world.webhooks.setEdgeTarget(account, 'mail', 'smtp://127.0.0.1:1');
  const inner = `From: ${bob}\nTo: ${anna}\nMessage-ID: <handed@over>\n\nHi`;
  await world.receive({ from: bob, to: [anna], inner });
  const operator = world.webhooks.as('operator:test');
  const [hook] = await operator.list();
  await waitUntil(async () => (await operator.show(hook?.id ?? '')).attempts.length > 0, 'an attempt');
  assert.equal(world.budget.used, 0);
  const [left] = (await world.messaging.listInbox(world.clinic, { toDirectAddress: anna })).messages;
  const mail = await world.stores.read(left?.messageId ?? '', account.accountId);
  assert.ok(world.budget.used > inner.length);
  mail?.release();
});

test('without memory for one more message the line edge takes and gives none for now', async (t) => {
  const world = await start(t, { settings: { maxContentBytes: 2_000 } });
  const first = await world.createAccount();
  const second = await world.createAccount({ username: anna, addresses: [anna] });
  const openLine = async (user: string, password: string): Promise<Dialogue> => {
    const line = endsWith(t, await world.open('line'));
    assert.equal(await line.ask(`AUTH ${user} ${password}`), 'OK');
    return line;
  };
  const [one, two] = [await openLine(alice, first.password), await openLine(anna, second.password)];
  assert.equal(await one.ask('TEXT 1900'), 'BEGIN');
  const refused = /^ERROR Too much is being sent or fetched/;
  assert.match((await two.ask('TEXT 1500')) ?? '', refused);
  await receive(world, anna);
  assert.match((await two.ask('CHECK')) ?? '', refused);
  one.end();
  await waitUntil(() => world.budget.used === 0, 'the end of the draft');
  assert.match((await two.ask('CHECK')) ?? '', /^MAIL/);
  assert.ok(world.budget.used > 0);
  assert.equal(await two.ask('DONE'), 'OK');
  assert.equal(world.budget.used, 0);
  assert.equal(await two.ask('TEXT 1500'), 'BEGIN');
  two.end();
});

test('one account holds at most half of the memory for contents, and what is small finds room when all is taken', async (t) => {
  const world = await start(t, { settings: { maxContentBytes: 8_000_000 } });
  const first = await world.createAccount();
  const second = await world.createAccount({ username: anna, addresses: [anna] });
  const open = async (user: string, password: string): Promise<Dialogue> => {
    const line = endsWith(t, await world.open('line'));
    assert.equal(await line.ask(`AUTH ${user} ${password}`), 'OK');
    return line;
  };
  const refused = /^ERROR Too much is being sent or fetched/;
  const [one, two] = [await open(alice, first.password), await open(alice, first.password)];
  // The first of an account may be larger than its half.
  assert.equal(await one.ask('TEXT 4500000'), 'BEGIN');
  assert.match((await two.ask('TEXT 10')) ?? '', refused);
  const [three, four] = [await open(anna, second.password), await open(anna, second.password)];
  assert.equal(await three.ask('TEXT 3400000'), 'BEGIN');
  assert.match((await four.ask('TEXT 300000')) ?? '', refused);
  assert.equal(await four.ask('TEXT 200000'), 'BEGIN');
  for (const line of [one, two, three, four]) line.end();
});

test('a client that keeps the memory of a message and goes on with nothing is cut off, in the middle of a line as well', async (t) => {
  const world = await start(t);
  const { password } = await world.createAccount();
  await receive(world, alice);
  for (const [holds, said] of [
    ['TEXT 0', 'INFO\n'],
    ['TEXT 0', 'I'],
    ['CHECK', 'INFO\n'],
  ] as const) {
    const server = createServer((socket) => {
      const connection = createConnection(socket, () => createSecureContext());
      const line = { ...world, log };
      void serveLine(connection, line, 300).finally(() => connection.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const client = endsWith(t, await openDialogue((server.address() as AddressInfo).port, undefined));
    assert.equal(await client.ask(`AUTH ${alice} ${password}`), 'OK');
    // Without a message, it may wait.
    await new Promise((resolve) => setTimeout(resolve, 400));
    assert.match((await client.ask(holds)) ?? '', /^(BEGIN|MAIL)/);
    const saying = setInterval(() => client.send(said), 50);
    while ((await client.line()) !== undefined);
    clearInterval(saying);
    await waitUntil(() => world.budget.used === 0, 'the end of the hold');
  }
});

test('POP3 shows the messages whose sizes it could learn in time, and the others the next time', async (t) => {
  const world = await start(t);
  const { password } = await world.createAccount({ policies: { inbound: 'unpacked' } });
  for (let at = 0; at < 3; at++) await receive(world, alice);
  const server = createServer((socket) => {
    const connection = createConnection(socket, () => createSecureContext(world.tls));
    const pop3 = { ...world, lists: world.budget, hostname: 'edge.alpha.example', log };
    void servePop3(connection, pop3, -1).finally(() => connection.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  for (const shown of [1, 2, 3, 3]) {
    const client = endsWith(t, await openDialogue((server.address() as AddressInfo).port, undefined));
    await client.line();
    await client.ask('STLS');
    await client.startTls(world.ca);
    await client.ask(`USER ${alice}`);
    assert.equal(await client.ask(`PASS ${password}`), `+OK ${shown} messages`);
    assert.match((await client.ask(`LIST ${shown}`)) ?? '', /^\+OK \d \d{3}/);
    assert.match((await client.ask('QUIT')) ?? '', /^\+OK/);
  }
});

test('a message for which there is no memory keeps back none behind it, and is given once half of it is free', async (t) => {
  const world = await start(t, { settings: { maxContentBytes: 4_000 } });
  const first = await world.createAccount();
  const second = await world.createAccount({ username: anna, addresses: [anna] });
  const inner = `From: ${bob}\nTo: ${anna}\nMessage-ID: <large@b.example>\n\n${'x'.repeat(3_000)}`;
  await world.receive({ from: bob, to: [anna], inner });
  world.clock.advance(1_000);
  await receive(world, anna);
  const [one, two] = [endsWith(t, await world.open('line')), endsWith(t, await world.open('line'))];
  assert.equal(await one.ask(`AUTH ${alice} ${first.password}`), 'OK');
  assert.equal(await two.ask(`AUTH ${anna} ${second.password}`), 'OK');
  assert.equal(await one.ask('TEXT 2100'), 'BEGIN');
  const small = (await two.ask('CHECK')) ?? '';
  assert.match(small, /^MAIL/);
  assert.equal(await two.ask('DONE'), 'OK');
  assert.match((await two.ask('CHECK')) ?? '', /^ERROR Too much is being sent or fetched/);
  one.end();
  await waitUntil(() => world.budget.used === 0, 'the end of the draft');
  const large = (await two.ask('CHECK')) ?? '';
  assert.match(large, /^MAIL/);
  assert.notEqual(large, small);
  const next = endsWith(t, await world.open('line'));
  assert.equal(await next.ask(`AUTH ${alice} ${first.password}`), 'OK');
  assert.equal(await next.ask('TEXT 1900'), 'BEGIN');
  assert.equal(await two.ask('CHECK'), large);
  next.end();
});

test('without memory for one more list of messages a mailbox is refused for now, and opened once there is some', async (t) => {
  // Of 200 bytes per message: room for one of the two mailboxes.
  const world = await start(t, { settings: { maxMailboxBytes: 4_000 } });
  const first = await world.createAccount();
  const second = await world.createAccount({ username: anna, addresses: [anna] });
  for (let at = 0; at < 12; at++) for (const address of [alice, anna]) await receive(world, address);
  const one = await openImap(t, world, alice, first.password);
  assert.match((await one.imap('SELECT INBOX')).result, /^OK/);
  // The account's share is taken; what is no list is not refused.
  const other = await openImap(t, world, alice, first.password);
  assert.match((await other.imap('SELECT INBOX')).result, /^NO \[UNAVAILABLE\]/);
  assert.match((await other.imap('FETCH 1 FLAGS')).result, /^BAD Select a mailbox first/);
  assert.deepEqual((await other.imap('STATUS INBOX (MESSAGES UNSEEN)')).untagged, [
    '* STATUS "INBOX" (MESSAGES 12 UNSEEN 12)',
  ]);
  assert.match((await other.imap('SELECT Trash')).result, /^OK/);
  assert.match(
    await world.metrics.text(),
    /^openhisp_edge_refused_total\{setting="edge\.maxMailboxBytes"\} 1$/m,
  );
  const pop = endsWith(t, await world.open('pop3s'));
  await pop.line();
  await pop.ask(`USER ${alice}`);
  assert.match((await pop.ask(`PASS ${first.password}`)) ?? '', /^-ERR \[SYS\/TEMP\]/);
  const two = await openImap(t, world, anna, second.password);
  assert.match((await two.imap('SELECT INBOX')).result, /^NO \[UNAVAILABLE\]/);
  // Whatever ends the list gives its memory back.
  for (const end of ['CLOSE', 'UNSELECT', 'SELECT Trash', 'LOGOUT']) {
    assert.match((await one.imap(end)).result, /^OK/);
    assert.match((await other.imap('SELECT INBOX')).result, /^OK/, end);
    await other.imap('UNSELECT');
    if (end !== 'LOGOUT') assert.match((await one.imap('SELECT INBOX')).result, /^OK/);
  }
  assert.match((await two.imap('SELECT INBOX')).result, /^OK/);
  two.end();
  await waitUntil(async () => {
    await pop.ask(`USER ${alice}`);
    return ((await pop.ask(`PASS ${first.password}`)) ?? '').startsWith('+OK 12 messages');
  }, 'room for the list of POP3');
});

test('a mailbox that grows while it is open holds memory for it or ends, and one larger than all is opened beside small ones', async (t) => {
  const world = await start(t, { settings: { maxMailboxBytes: 16_000 } });
  const first = await world.createAccount();
  const second = await world.createAccount({ username: anna, addresses: [anna] });
  await receive(world, anna);
  const trash = { accountId: first.accountId, name: 'Trash' } as const;
  const add = (count: number): Promise<unknown> =>
    world.edges.mailboxes.add(
      trash,
      Array.from({ length: count }, () => ({
        receivedAt: world.clock.now(),
        sizeBytes: 10,
      })),
    );
  const other = await openImap(t, world, anna, second.password);
  assert.match((await other.imap('SELECT INBOX')).result, /^OK/);
  const two = await openImap(t, world, alice, first.password);
  assert.match((await two.imap('SELECT Trash')).result, /^OK/);
  const one = await openImap(t, world, alice, first.password);
  assert.match((await one.imap('SELECT Trash')).result, /^OK/);
  await add(60);
  for (const session of [one, two])
    assert.deepEqual(await session.imap('NOOP'), { untagged: ['* 60 EXISTS'], result: 'OK done' });
  await add(60);
  assert.deepEqual(await one.imap('NOOP'), { untagged: ['* 120 EXISTS'], result: 'OK done' });
  const refused = await two.imap('NOOP');
  assert.match(refused.untagged[0] ?? '', /^\* BYE \[UNAVAILABLE\]/);
  assert.equal(refused.result, 'ended');
  for (const command of ['UNSELECT', 'SELECT Trash', 'NOOP'])
    assert.match((await one.imap(command)).result, /^OK/, command);
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

test('two sessions that expunge each other end with the same mailbox, and each is told of each message once', async (t) => {
  const world = await start(t);
  const { accountId, password } = await world.createAccount();
  for (let at = 0; at < 12; at++) await receive(world, alice);
  const sessions = [await openImap(t, world, alice, password), await openImap(t, world, alice, password)];
  await Promise.all(sessions.map((session) => session.imap('SELECT INBOX')));
  const told = await Promise.all(
    sessions.map(async (session, first) => {
      let count = 0;
      const say = async (command: string): Promise<void> => {
        const { untagged, result } = await session.imap(command);
        assert.match(result, /^(OK|BAD There is no message)/, command);
        count += untagged.filter((line) => line.endsWith(' EXPUNGE')).length;
      };
      for (let at = 0; at < 6; at++) {
        await say(`UID STORE ${1 + first + 2 * at} +FLAGS.SILENT (\\Deleted)`);
        await say(at % 2 === 0 ? 'EXPUNGE' : 'NOOP');
        await say('FETCH 1:3 FLAGS');
      }
      return { count, say };
    }),
  );
  for (const one of told) await one.say('EXPUNGE');
  for (const [index, session] of sessions.entries()) {
    const { untagged } = await session.imap('NOOP');
    const rest = untagged.filter((line) => line.endsWith(' EXPUNGE')).length;
    assert.ok((told[index]?.count ?? 0) + rest <= 12);
    assert.deepEqual((await session.imap('UID SEARCH ALL')).untagged, ['* SEARCH']);
  }
  assert.equal((await world.edges.mailboxes.list({ accountId, name: 'INBOX' })).length, 0);
  assert.equal((await world.messaging.listInbox(world.clinic, {})).messages.length, 0);
  assert.deepEqual(
    world.logLines.filter((line) => line.includes('failed')),
    [],
  );
});

test('marking a whole mailbox, and expunging it, acknowledges and changes all in a few transactions', async (t) => {
  const world = await start(t);
  const { accountId, password } = await world.createAccount();
  const dialogue = await openImap(t, world, alice, password);
  await dialogue.imap('SELECT INBOX');
  // Those of the workers that look for work meanwhile count, too, but on PostgreSQL a row knows its transaction.
  async function writers(table: 'inbox_copy' | 'edge_mail'): Promise<number> {
    const { rows } = await sql<{ count: string }>`
      select count(distinct xmin::text) as count from ${sql.table(table)}`.execute(
      world.storage.tables<Record<string, never>>(),
    );
    return Number(rows[0]?.count);
  }
  for (const command of ['STORE 1:* +FLAGS.SILENT (\\Seen)', 'EXPUNGE']) {
    for (let at = 0; at < 20; at++) await receive(world, alice);
    assert.equal((await world.messaging.listInbox(world.clinic, { limit: 100 })).messages.length, 20);
    await dialogue.imap('NOOP');
    if (command === 'EXPUNGE') await dialogue.imap('STORE 1:* +FLAGS.SILENT (\\Deleted)');
    const before = world.storage.counts().commits;
    assert.match((await dialogue.imap(command)).result, /^OK/);
    const commits = world.storage.counts().commits - before;
    if (!isPostgres) assert.ok(commits < 10, `${command}: ${commits} commits`);
    else if (command === 'EXPUNGE') assert.ok((await writers('inbox_copy')) <= 4);
    else assert.deepEqual([await writers('inbox_copy'), await writers('edge_mail')], [1, 1]);
    assert.equal((await world.messaging.listInbox(world.clinic, {})).messages.length, 0);
  }
  assert.equal((await world.edges.mailboxes.state({ accountId, name: 'INBOX' })).removals, 1);
});

test('what retention deletes under an open session is told as gone, and numbers change between commands alone', async (t) => {
  const world = await start(t);
  const { password } = await world.createAccount();
  for (let at = 0; at < 3; at++) await receive(world, alice);
  const dialogue = await openImap(t, world, alice, password);
  await dialogue.imap('SELECT INBOX');
  const [first] = await world.db.selectFrom('inbox_copy').select('id').orderBy('received_at').execute();
  await world.db
    .deleteFrom('inbox_copy')
    .where('id', '=', first?.id ?? '')
    .execute();
  assert.match((await dialogue.imap('FETCH 3 FLAGS')).untagged[0] ?? '', /^\* 3 FETCH/);
  const { untagged, result } = await dialogue.imap('FETCH 1:3 (UID BODY.PEEK[HEADER.FIELDS (Subject)])');
  assert.match(result, /^NO \[EXPUNGEISSUED\]/);
  assert.equal(untagged.length, 2);
  assert.ok((await dialogue.imap('NOOP')).untagged.includes('* 1 EXPUNGE'));
  assert.match((await dialogue.imap('FETCH 1:2 BODY.PEEK[]')).result, /^OK/);
});

/** Submission by hand up to the given command; returns the answers' codes. */
async function submitUpTo(dialogue: Dialogue, commands: readonly string[]): Promise<string[]> {
  const codes: string[] = [];
  for (const command of commands) {
    dialogue.send(`${command}\r\n`);
    let line = await dialogue.line();
    while (line?.[3] === '-') line = await dialogue.line();
    codes.push(line?.slice(0, 3) ?? 'ended');
  }
  return codes;
}

const opening = (password: string): string[] => [
  'EHLO client.example',
  `AUTH PLAIN ${Buffer.from(`\0${alice}\0${password}`).toString('base64')}`,
  `MAIL FROM:<${alice}>`,
  `RCPT TO:<${bob}>`,
  'DATA',
];

test('without memory for one more message a submission is deferred, and taken once there is some', async (t) => {
  const world = await start(t, { settings: { maxContentBytes: 300_000 } });
  const { password } = await world.createAccount();
  const header = `From: ${alice}\r\nTo: ${bob}\r\n\r\n`;
  const text = `${'x'.repeat(70)}\r\n`.repeat(3_400);
  const submit = async (dialogue: Dialogue): Promise<string[]> => {
    await dialogue.line();
    return submitUpTo(dialogue, opening(password));
  };
  const holder = endsWith(t, await world.open('smtps'));
  assert.equal((await submit(holder)).at(-1), '354');
  holder.send(header + text);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const other = endsWith(t, await world.open('smtps'));
  const codes = await submit(other);
  if (codes.at(-1) === '354') {
    other.send(`${header}${text}.\r\n`);
    codes.push((await other.line()) ?? 'ended');
  }
  assert.ok(
    codes.some((code) => /^4\d\d/.test(code)),
    codes.join(),
  );
  holder.send('.\r\n');
  assert.match((await holder.line()) ?? 'ended', /^250/);
  const again = endsWith(t, await world.open('smtps'));
  assert.equal((await submit(again)).at(-1), '354');
  again.send(`${header}${text}.\r\n`);
  assert.match((await again.line()) ?? 'ended', /^250/);
  assert.equal(world.deliveries.length, 2);
});

test('a server that closes in half a message has accepted nothing of it, and ends in time', async (t) => {
  const world = await start(t);
  const { password } = await world.createAccount();
  const smtp = endsWith(t, await world.open('smtps'));
  await smtp.line();
  await submitUpTo(smtp, opening(password));
  smtp.send(`From: ${alice}\r\nTo: ${bob}\r\n\r\nhalf a mess`);
  const line = endsWith(t, await world.open('line'));
  assert.equal(await line.ask(`AUTH ${alice} ${password}`), 'OK');
  await line.ask(`TO ${bob}`);
  await line.line();
  assert.equal(await line.ask('TEXT 1000'), 'BEGIN');
  line.send('half');
  const imap = await openImap(t, world, alice, password);
  imap.send('a LOGIN {10}\r\n');
  await imap.line();
  const began = performance.now();
  await world.running.close();
  assert.ok(performance.now() - began < 15_000);
  assert.equal(world.deliveries.length, 0);
});
