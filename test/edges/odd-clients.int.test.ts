/** What public issue reports of mail servers and clients tell of: odd commands, odd messages, and their order. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, it, type TestContext } from 'node:test';
import type { EdgeName } from '../../src/app/edges/index.ts';
import { alice, anna, bob } from '../messaging/start-messaging.ts';
import { readResponse } from './read-imap-response.ts';
import { endsWith, forgetAll, startTestEdges, type Dialogue } from './start-edges.ts';

const world = await startTestEdges();
after(() => world.close());
/** Everything that a quoted text, a literal, a base64 response and the rest of a line can get wrong. */
const password = 'a "b\\ {5} (%*) \u00fc';
await world.createAccount({ password });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

beforeEach(async () => {
  await world.storage.tables<{ edge_mail: object }>().deleteFrom('edge_mail').execute();
  await forgetAll(world);
  world.deliveries.splice(0);
});

let count = 0;
async function receive(...lines: readonly string[]): Promise<void> {
  const header = [`From: ${bob}`, `To: ${alice}`];
  if (!lines.some((line) => line.startsWith('Message-ID')))
    header.push(`Message-ID: <odd${++count}@x.example>`);
  await world.receive({ from: bob, to: [alice], inner: [...header, ...lines].join('\r\n') });
}

async function open(t: TestContext, name: EdgeName): Promise<Dialogue> {
  const dialogue = endsWith(t, await world.open(name));
  if (name !== 'line') await dialogue.line();
  return dialogue;
}

async function openImap(t: TestContext): Promise<Dialogue> {
  const imap = await open(t, 'imaps');
  assert.match((await imap.imap(`AUTHENTICATE PLAIN ${base64(`\0${alice}\0${password}`)}`)).result, /^OK/);
  return imap;
}

async function openPop3(t: TestContext): Promise<Dialogue> {
  const pop3 = await open(t, 'pop3s');
  await pop3.ask(`USER ${alice}`);
  assert.match((await pop3.ask(`PASS ${password}`)) ?? '', /^\+OK/);
  return pop3;
}

const octetsOf = (text: string): number => Buffer.byteLength(text);
const quoted = `"${password.replace(/["\\]/g, '\\$&')}"`;

describe('sign-ins', () => {
  for (const [name, command, answer] of [
    ['quoted, with what must be escaped', `LOGIN "${alice}" ${quoted}`, /^OK/],
    [
      'two literals that nobody waits for',
      `LOGIN {${octetsOf(alice)}+}\r\n${alice} {${octetsOf(password)}+}\r\n${password}`,
      /^OK/,
    ],
    ['the name in other letters', `login ${alice.toUpperCase()} ${quoted}`, /^OK/],
    ['for itself', `AUTHENTICATE PLAIN ${base64(`${alice}\0${alice}\0${password}`)}`, /^OK/],
    ['for somebody else', `AUTHENTICATE PLAIN ${base64(`${anna}\0${alice}\0${password}`)}`, /^BAD/],
    ['an empty response', 'AUTHENTICATE PLAIN =', /^BAD/],
    ['an empty password', `LOGIN ${alice} ""`, /^NO \[AUTHENTICATIONFAILED\]/],
    ['an empty literal', `LOGIN ${alice} {0+}\r\n`, /^NO \[AUTHENTICATIONFAILED\]/],
    ['a quote that does not end', `LOGIN ${alice} "x`, /^BAD/],
  ] as const)
    it(`IMAP: ${name}`, async (t) => {
      assert.match((await (await open(t, 'imaps')).imap(command)).result, answer);
    });

  it('POP3, SMTP and lines take the same password', async (t) => {
    await openPop3(t);
    const pop3 = await open(t, 'pop3s');
    const forItself = base64(`${alice}\0${alice}\0${password}`);
    assert.match((await pop3.ask(`AUTH PLAIN ${forItself}`)) ?? '', /^\+OK/);
    const smtp = await open(t, 'smtps');
    for (let line = await smtp.ask('EHLO x'); line?.[3] === '-';) line = await smtp.line();
    assert.match((await smtp.ask(`AUTH PLAIN ${forItself}`)) ?? '', /^235/);
    const line = await open(t, 'line');
    assert.equal(await line.ask(`AUTH ${alice} ${password}`), 'OK');
  });
});

describe('IMAP', () => {
  it('odd commands are answered by what they mean, or refused and forgotten', async (t) => {
    await receive('', 'Hello');
    const imap = await openImap(t);
    const steps: readonly (readonly [command: string, answer: RegExp, untagged?: readonly string[]])[] = [
      ['ENABLE CONDSTORE', /^BAD/],
      ['SELECT {5+}\r\ninbox (CONDSTORE)', /^OK \[READ-WRITE\]/],
      ['FETCH 1 (FLAGS MODSEQ)', /^BAD/],
      ['STORE 1 +FLAGS (\\Flagged)', /^OK/, ['* 1 FETCH (FLAGS (\\Flagged))']],
      // Without its list it must not take all flags away.
      ['STORE 1 FLAGS', /^BAD/],
      ['STORE 1 FLAGS.SILENT', /^BAD/],
      ['STORE 1 +FLAGS (\\Recent \\Foo $Junk)', /^OK/, ['* 1 FETCH (FLAGS (\\Flagged))']],
      ['STORE 1 -FLAGS (Junk)', /^OK/, ['* 1 FETCH (FLAGS (\\Flagged))']],
      ['STORE 1 (UNCHANGEDSINCE 1) FLAGS (\\Seen)', /^BAD/],
      ['FETCH 1 (FLAGS)', /^OK/, ['* 1 FETCH (FLAGS (\\Flagged))']],
      ['FETCH 1 BODY[]<0.0>', /^BAD/],
      ['FETCH 1 BODY.PEEK[HEADER]<0.5>', /^OK/, ['* 1 FETCH (BODY[HEADER]<0> {5}\nFrom:)']],
      ['FETCH 1 BINARY.PEEK[1]', /^BAD/],
      ['FETCH 1:* FLAGS UID', /^OK/],
      ['UID', /^BAD/],
      ['UID NONSENSE 1', /^BAD/],
      ['UID FETCH * UID', /^OK/],
      ['SEARCH RETURN (COUNT) ALL', /^BAD/],
      ['SEARCH NOT', /^BAD/],
      ['SEARCH OR ALL', /^BAD/],
      ['SEARCH ()', /^BAD/],
      ['STATUS INBOX (MESSAGES {3+}\r\n\r\nX)', /^BAD STATUS does not know an item$/],
      ['STATUS INBOX MESSAGES', /^BAD/],
      ['LIST "" "%"', /^OK/, ['INBOX', 'Sent', 'Trash']],
      ['LIST "" "inb*"', /^OK/, ['INBOX']],
      ['LIST "I" "%x"', /^OK/, ['INBOX']],
      ['LIST "" (INBOX "tr%")', /^OK/, ['INBOX', 'Trash']],
      ['LIST "" "(.*)+$"', /^OK/, []],
      [`LIST "" "${'*a'.repeat(90)}"`, /^OK/, []],
      ['LSUB "" "*"', /^OK/, ['INBOX', 'Sent', 'Trash']],
      ['LIST', /^BAD/],
      ['SELECT', /^BAD/],
      ['APPEND INBOX "no literal"', /^BAD/],
      ['APPEND Sent {2147483648}', /^NO \[LIMIT\]/],
      ['LOGIN x {2147483648}', /^BAD The literal is too large/],
      ['LOGIN x {99999999999999}', /^BAD The literal is too large/],
      ['NAMESPACE', /^OK/, ['* NAMESPACE (("" "/")) NIL NIL']],
      ['ID NIL', /^OK/, ['* ID ("name" "openhisp")']],
      ['NOOP', /^OK/, []],
    ];
    for (const [command, answer, expected] of steps) {
      const { untagged, result } = await imap.imap(command);
      assert.match(result, answer, command);
      for (const line of untagged) readResponse(line, command);
      if (expected === undefined) continue;
      const lists = untagged.map((line) => /^\* (?:LIST|LSUB) \([^)]*\) "\/" (\w+)$/.exec(line)?.[1] ?? line);
      assert.deepEqual(lists, expected, command);
    }
    for (const [command, words] of [
      ['a NOOP {2147483648+}', /^\* BYE The literal is too large/],
      ['a APPEND Sent {2147483648+}', /^a NO \[LIMIT\]/],
    ] as const) {
      const other = await openImap(t);
      other.send(`${command}\r\n`);
      assert.match((await other.line()) ?? '', words);
      while ((await other.line()) !== undefined);
    }
  });

  it('odd messages have an envelope of ten fields and a whole structure, in their true octets', async (t) => {
    const part = (...lines: readonly string[]): readonly string[] => ['', '--b', ...lines];
    const mixed = 'Content-Type: multipart/mixed; boundary=b';
    const messages: readonly (readonly string[])[] = [
      [''],
      ['Subject:', 'Cc:', 'Bcc: ,', '', ''],
      ['Cc: <@localhost>, Undisclosed: ;, a, "x" <y>', 'Reply-To: <>', '', 'x'],
      ['Sender: a@b.example', 'Message-ID: <a."b\\c"@d (x)>', '', 'x'],
      ['Cc: M\u00fcller <m@b.example>', 'Subject: "\u00fc\\ \t"', '', '\u00fc\u0000\u0001'],
      ['Content-Type: multipart/mixed', '', 'no boundary'],
      [mixed, '', 'no part'],
      [mixed, '', '--b--'],
      [mixed, ...part('Content-Type: multipart/mixed; boundary=""', '', 'x'), '--b--'],
      [mixed, ...part('Content-Type: message/rfc822', '', ''), '--b--'],
      [mixed, ...part('Content-Type: message/rfc822', '', 'Subject: inner', '', 'y'), '--b--'],
      [mixed, ...part('Content-Type: ; charset', 'Content-Disposition: ;;;', '', 'x')],
      [mixed, ...part('Content-Type: text/xml; name="a\\"b.xml"; charset=', 'Content-ID: "', '', '<a/>')],
      [
        'Content-Type: text/plain',
        'Content-Transfer-Encoding: base64 (x)',
        'Content-Language: en,, de',
        '',
        '=',
      ],
    ];
    for (const lines of messages) await receive(...lines);
    const imap = await openImap(t);
    const { untagged: selected } = await imap.imap('SELECT INBOX');
    assert.ok(selected.includes(`* ${messages.length} EXISTS`), selected.join());
    const fields = '(RFC822.SIZE ENVELOPE BODYSTRUCTURE BODY)';
    for (const [index, lines] of messages.entries()) {
      const { untagged, result } = await imap.imap(`FETCH ${index + 1} ${fields}`);
      assert.match(result, /^OK/, lines.join('|'));
      const [, , items] = readResponse(untagged[0] ?? '', lines.join('|'));
      assert.ok(Array.isArray(items));
      const valueOf = (name: string): unknown => items[items.indexOf(name) + 1];
      assert.equal((valueOf('ENVELOPE') as readonly unknown[]).length, 10);
      assert.ok(!JSON.stringify(valueOf('BODYSTRUCTURE')).startsWith('[null'), untagged[0]);
      // Counted by the octets that come: a client that is told fewer takes the rest for the next answer.
      imap.send(`f${index} FETCH ${index + 1} BODY.PEEK[]\r\n`);
      const length = Number(/\{(\d+)\}$/.exec((await imap.line()) ?? '')?.[1]);
      assert.equal(length, Number(valueOf('RFC822.SIZE')));
      await imap.octets(length);
      assert.equal(await imap.line(), ')');
      assert.match((await imap.line()) ?? '', /OK/);
    }
    assert.match((await imap.imap('SEARCH TEXT x FROM "m" SENTSINCE 1-Jan-2020')).result, /^OK/);
  });
});

describe('POP3', () => {
  it('two sessions on one mailbox, a lost QUIT, and marks that are taken back', async (t) => {
    for (const text of ['one', 'two', 'three']) await receive('', text, '.', '..dots');
    const [first, second] = [await openPop3(t), await openPop3(t)];
    const linesOf = async (dialogue: Dialogue, command: string): Promise<readonly string[]> => {
      assert.match((await dialogue.ask(command)) ?? '', /^\+OK/, command);
      const lines: string[] = [];
      for (let line = await dialogue.line(); line !== '.'; line = await dialogue.line()) {
        assert.ok(line !== undefined, command);
        lines.push(line);
      }
      return lines;
    };
    const uids = await linesOf(first, 'UIDL');
    // Ids that are in no sequence: after a restore the numbers of a mailbox are given again.
    assert.ok(uids.every((line) => /^\d [\da-f-]{36}$/.test(line)) && new Set(uids).size === uids.length);
    assert.deepEqual(await linesOf(second, 'UIDL'), uids);
    await first.ask('DELE 2');
    assert.deepEqual(await linesOf(first, 'UIDL'), [uids[0], uids[2]]);
    assert.deepEqual(
      (await linesOf(first, 'LIST')).map((line) => line[0]),
      ['1', '3'],
    );
    assert.match((await first.ask('STAT')) ?? '', /^\+OK 2 /);
    for (const gone of [
      'LIST 2',
      'UIDL 2',
      'TOP 2 0',
      'RETR 2',
      'DELE 2',
      'DELE 0',
      'DELE -1',
      'DELE 9',
      'TOP 1',
    ])
      assert.match((await first.ask(gone)) ?? '', /^-ERR/, gone);
    await first.ask('RSET');
    assert.match((await first.ask('STAT')) ?? '', /^\+OK 3 /);
    assert.deepEqual((await linesOf(first, 'TOP 1 0')).at(-1), '');
    assert.deepEqual((await linesOf(first, 'TOP 1 2')).slice(-3), ['', 'one', '..']);
    // Its connection breaks before QUIT: nothing is removed.
    await first.ask('DELE 1');
    first.end();
    await second.ask('DELE 3');
    const third = await openPop3(t);
    await third.ask('DELE 3');
    assert.match((await second.ask('QUIT')) ?? '', /^\+OK/);
    assert.match((await third.ask('QUIT')) ?? '', /^\+OK/);
    // Numbers begin at 1 again, identifiers stay.
    assert.deepEqual(await linesOf(await openPop3(t), 'UIDL'), [uids[0], uids[1]]);
  });

  it('commands that come all at once are answered in order; what retention took meanwhile is an error', async (t) => {
    for (const text of ['one', 'two']) await receive('', text);
    const pop3 = await openPop3(t);
    pop3.send('RETR 1\r\nRETR 2\r\nTOP 1 0\r\nNOOP\r\n');
    const heard: string[] = [];
    for (let left = 4; left > 0;) {
      const line = await pop3.line();
      assert.ok(line !== undefined && !line.startsWith('-ERR'), line);
      if (line === '.' || (left === 1 && line === '+OK')) left--;
      if (['one', 'two', '.', '+OK'].includes(line)) heard.push(line);
    }
    assert.deepEqual(heard, ['+OK', 'one', '.', '+OK', 'two', '.', '+OK', '.', '+OK']);
    await world.db.deleteFrom('inbox_copy').execute();
    for (const command of ['RETR 2', 'TOP 1 5'])
      assert.match((await pop3.ask(command)) ?? '', /^-ERR/, command);
    await pop3.ask('DELE 1');
    assert.match((await pop3.ask('QUIT')) ?? '', /^\+OK/);
  });
});

it('submission: parameters, pipelining and 8-bit texts as announced, and nothing else', async (t) => {
  const smtp = await open(t, 'smtps');
  smtp.send('EHLO client.example\r\n');
  const offered: string[] = [];
  do offered.push((await smtp.line()) ?? '250 ended');
  while (offered.at(-1)?.[3] === '-');
  for (const none of ['SMTPUTF8', 'CHUNKING', 'BINARYMIME', 'DSN'])
    assert.ok(!offered.some((line) => line.includes(none)), offered.join());
  assert.match((await smtp.ask(`AUTH PLAIN ${base64(`\0${alice}\0${password}`)}`)) ?? '', /^235/);
  for (const [command, answer] of [
    [`MAIL FROM:<${alice}> SMTPUTF8`, /^5/],
    [`MAIL FROM:<${alice}> BODY=BINARYMIME`, /^5/],
    [`MAIL FROM:<${alice}> RET=HDRS`, /^555/],
    [`MAIL FROM:<${alice}> AUTH=<>`, /^250/],
    ['RSET', /^250/],
    [`MAIL FROM:<${alice}> AUTH=ann+2Blee@client.example SIZE=100`, /^250/],
    ['RSET', /^250/],
    [`MAIL FROM:<${alice}> SIZE=99999999999`, /^552/],
    ['MAIL FROM:<>', /^553/],
    ['MAIL FROM:<\u00fc@direct.alpha.example>', /^5/],
    ['BDAT 3 LAST', /^5/],
    [`MAIL FROM:<${alice}> BODY=8BITMIME`, /^250/],
    [`RCPT TO:<${bob}> NOTIFY=NEVER`, /^555/],
    ['RCPT TO:<\u00fc@direct.beta.example>', /^5/],
    ['RCPT TO:<>', /^5/],
    ['RSET', /^250/],
  ] as const)
    assert.match((await smtp.ask(command)) ?? 'ended', answer, command);
  const text = 'gr\u00fc\u00dfe\r\n..\r\n';
  smtp.send(
    `MAIL FROM:<${alice}> BODY=8BITMIME\r\nRCPT TO:<${bob}>\r\nRCPT TO:<nobody@direct.alpha.example>\r\nDATA\r\n`,
  );
  const codes: string[] = [];
  for (let left = 4; left > 0; left--) codes.push(((await smtp.line()) ?? 'ended').slice(0, 3));
  assert.deepEqual(codes, ['250', '250', '550', '354']);
  smtp.send(
    `From: ${alice}\r\nTo: ${bob}\r\nMessage-ID: <eight@client.example>\r\n\r\n${text}.\r\nNOOP\r\nQUIT\r\n`,
  );
  for (const code of ['250', '250', '221']) assert.ok(((await smtp.line()) ?? 'ended').startsWith(code));
  const sent = Buffer.from(world.deliveries[0]?.message ?? '').toString();
  assert.ok(sent.endsWith('\r\n\r\ngr\u00fc\u00dfe\r\n.\r\n'), sent);
});

it('lines: all at once, a text twice, and a refused message that leaves nothing behind', async (t) => {
  const line = await open(t, 'line');
  line.send(
    `AUTH ${alice} ${password}\nTO ${bob}\nTEXT 5\nHelloADD RAW 3 a b .txt\nabcSET FINAL 0\nSEND\nCHECK\n`,
  );
  const heard: string[] = [];
  for (let left = 10; left > 0; left--) heard.push((await line.line()) ?? 'ended');
  assert.deepEqual(
    [...heard.slice(0, 8), heard[8]?.split(' ')[0], heard[9]],
    ['OK', 'OK', bob, 'BEGIN', 'OK', 'BEGIN', 'OK', 'OK', 'QUEUED', 'NONE'],
  );
  assert.match((await line.ask('SEND')) ?? '', /^ERROR no recipient/);
  await line.ask(`TO ${bob}`);
  await line.line();
  assert.equal(await line.ask('TEXT 0'), 'BEGIN');
  assert.equal(await line.line(), 'OK');
  assert.match((await line.ask('TEXT 1')) ?? '', /^ERROR the text was given already/);
  // A PDF that is none is refused; what follows is a separate message.
  assert.equal(await line.ask('ADD RAW 3 a.pdf'), 'BEGIN');
  assert.equal(await line.ask('ab'), 'OK');
  assert.match((await line.ask('SEND')) ?? '', /^ERROR /);
  assert.match((await line.ask('SEND')) ?? '', /^ERROR no recipient/);
  assert.equal(world.budget.used, 0);
  assert.equal(world.deliveries.length, 1);
});
