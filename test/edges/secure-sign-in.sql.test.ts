/** What is typed before TLS, and passwords that are guessed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { connect } from 'node:tls';
import { alice, anna } from '../messaging/start-messaging.ts';
import { endsWith, startTestEdges, type Dialogue, type TestEdges } from './start-edges.ts';

async function start(t: TestContext): Promise<TestEdges> {
  // One for each protocol.
  const world = await startTestEdges({ attemptsPerMinute: 4 });
  t.after(() => world.close());
  return world;
}

/** Commands of one protocol, as far as TLS is concerned. */
interface Secured {
  readonly name: 'submission' | 'imap' | 'pop3';
  /** Ways to the moment of STARTTLS: each is one state of the session. */
  readonly before: Readonly<Record<string, readonly string[]>>;
  readonly startTls: string;
  readonly goAhead: RegExp;
  /** Would be answered if it were taken for a command. */
  readonly injected: string;
  readonly first: string;
  readonly answer: RegExp;
}

const secured: readonly Secured[] = [
  {
    name: 'submission',
    before: {
      'after EHLO': ['EHLO client.example'],
      'after a refused sign-in': ['EHLO client.example', 'AUTH PLAIN AGEAYg=='],
      'after a refused sender': ['EHLO client.example', `MAIL FROM:<${alice}>`],
    },
    startTls: 'STARTTLS',
    goAhead: /^220/,
    injected: 'EHLO injected.example\r\nNOOP injected',
    first: 'RSET',
    answer: /^250 /,
  },
  {
    name: 'imap',
    before: {
      'at once': [],
      'after CAPABILITY': ['a CAPABILITY'],
      'after a refused sign-in': ['a LOGIN a b'],
      'after a command of a later state': ['a SELECT INBOX'],
    },
    startTls: 'b STARTTLS',
    goAhead: /^b OK/,
    injected: 'c NOOP',
    first: 'd LOGOUT',
    answer: /^\* BYE/,
  },
  {
    name: 'pop3',
    before: {
      'at once': [],
      'after CAPA': ['CAPA'],
      'after a refused user name': ['USER a'],
      'after a command of a later state': ['STAT'],
    },
    startTls: 'STLS',
    goAhead: /^\+OK/,
    injected: 'NOOP',
    first: 'QUIT',
    answer: /^\+OK Bye/,
  },
];

/** Until it has answered the last command. */
async function settle(dialogue: Dialogue, isEnd: (line: string) => boolean): Promise<void> {
  for (let line = await dialogue.line(); line !== undefined && !isEnd(line); line = await dialogue.line());
}

const isLast: Readonly<Record<Secured['name'], (command: string) => (line: string) => boolean>> = {
  submission: () => (line) => line[3] === ' ',
  imap: (command) => (line) => line.startsWith(`${command.split(' ')[0]} `),
  pop3: (command) => (line) => (command === 'CAPA' ? line === '.' : true),
};

for (const { name, before, startTls, goAhead, injected, first, answer } of secured)
  test(`${name}: what is typed before TLS, in whatever state and packet, is no command of the secured session`, async (t) => {
    const world = await start(t);
    const arrive = async (commands: readonly string[]): Promise<Dialogue> => {
      const dialogue = endsWith(t, await world.open(name));
      await dialogue.line();
      for (const command of commands) {
        dialogue.send(`${command}\r\n`);
        await settle(dialogue, isLast[name](command));
      }
      return dialogue;
    };
    /** Ended, or secured with nothing left over from before. */
    const requireClean = async (dialogue: Dialogue, state: string): Promise<void> => {
      try {
        await dialogue.startTls(world.ca);
      } catch {
        return;
      }
      dialogue.send(`${first}\r\n`);
      assert.match((await dialogue.line()) ?? 'ended', new RegExp(`${answer.source}|^ended`), state);
    };
    for (const [state, commands] of Object.entries(before)) {
      const together = await arrive(commands);
      together.send(`${startTls}\r\n${injected}\r\n`);
      const said = await together.line();
      if (said !== undefined) {
        assert.match(said, goAhead, state);
        await requireClean(together, `${state}, in one packet`);
      }
      const half = await arrive(commands);
      half.send(`${startTls}\r\n${injected.slice(0, 4)}`);
      if ((await half.line()) !== undefined) await requireClean(half, `${state}, half a command`);
      const late = await arrive(commands);
      assert.match((await late.ask(`${startTls}\r`)) ?? 'ended', goAhead, state);
      late.send(`${injected}\r\n`);
      await assert.rejects(late.startTls(world.ca), `${state}, before the handshake`);
      const clean = await arrive(commands);
      assert.match((await clean.ask(`${startTls}\r`)) ?? 'ended', goAhead, state);
      await clean.startTls(world.ca);
      // A second time there is none.
      clean.send(`${startTls}\r\n`);
      assert.match((await clean.line()) ?? 'ended', /^(5\d\d|b BAD|-ERR)/, state);
      await requireAnswer(clean, first, answer);
    }
  });

async function requireAnswer(dialogue: Dialogue, command: string, answer: RegExp): Promise<void> {
  assert.match((await dialogue.ask(`${command}\r`)) ?? 'ended', answer);
}

/** Of one attempt over a connection of its own. */
const attempts: Readonly<
  Record<string, (world: TestEdges, t: TestContext, password: string) => Promise<string>>
> = {
  async line(world, t, password) {
    const dialogue = endsWith(t, await world.open('line'));
    return (await dialogue.ask(`AUTH ${alice} ${password}`)) ?? 'ended';
  },
  async smtps(world, t, password) {
    const dialogue = endsWith(t, await world.open('smtps'));
    await dialogue.line();
    dialogue.send('EHLO client.example\r\n');
    await settle(dialogue, isLast.submission(''));
    return (
      (await dialogue.ask(`AUTH PLAIN ${Buffer.from(`\0${alice}\0${password}`).toString('base64')}\r`)) ??
      'ended'
    );
  },
  async imaps(world, t, password) {
    const dialogue = endsWith(t, await world.open('imaps'));
    await dialogue.line();
    return (await dialogue.imap(`LOGIN ${alice} "${password}"`)).result;
  },
  async pop3s(world, t, password) {
    const dialogue = endsWith(t, await world.open('pop3s'));
    await dialogue.line();
    await dialogue.ask(`USER ${alice}\r`);
    return (await dialogue.ask(`PASS ${password}\r`)) ?? 'ended';
  },
};

test('guessing over all protocols together is held back on each, and a client that signed in before is not', async (t) => {
  const world = await start(t);
  const { password } = await world.createAccount();
  const other = await world.createAccount({ username: anna, addresses: [anna] });
  assert.equal(await attempts['line']?.(world, t, password), 'OK');
  for (const [name, attempt] of Object.entries(attempts))
    assert.match(await attempt(world, t, `a guess by ${name}`), /is wrong/i, name);
  for (const [name, attempt] of Object.entries(attempts))
    assert.match(await attempt(world, t, 'one more guess'), /Too many/i, name);
  for (const [name, attempt] of Object.entries(attempts))
    assert.match(await attempt(world, t, password), /^(OK|235|\+OK)/, name);
  // Another account of the same network waits, too: its password was not verified before.
  const held = endsWith(t, await world.open('line'));
  assert.match((await held.ask(`AUTH ${anna} ${other.password}`)) ?? '', /Too many/);
  world.clock.advance(60_000);
  const free = endsWith(t, await world.open('line'));
  assert.equal(await free.ask(`AUTH ${anna} ${other.password}`), 'OK');
});

test('TLS 1.2 is not renegotiated, by any edge', async (t) => {
  const { running, ca } = await start(t);
  for (const name of ['line', 'smtps', 'imaps', 'pop3s'] as const) {
    const port = running.ports[name] ?? 0;
    const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost', maxVersion: 'TLSv1.2' });
    t.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    const refused = new Promise<string>((resolve) => {
      socket.on('error', ({ message }) => resolve(message));
      socket.renegotiate({}, (error) => resolve(error?.message ?? 'renegotiated'));
    });
    assert.match(await refused, /no renegotiation/i, name);
  }
});
