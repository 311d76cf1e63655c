/** IMAP, POP3 and submission by hand; the numbers in the titles are those of the Edge Testing Tool. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import type { EdgeName } from '../../src/app/edges/index.ts';
import { alice, anna, bob, mallory, waitUntil } from '../messaging/start-messaging.ts';
import { endsWith, forgetAll, startTestEdges, type Dialogue, type TestEdges } from './start-edges.ts';

let world: TestEdges;
let password: string;
before(async () => {
  world = await startTestEdges();
  ({ password } = await world.createAccount());
});
after(() => world.close());
beforeEach(async () => {
  world.deliveries.splice(0);
  await forgetAll(world);
  await world.storage.tables<{ edge_mail: object }>().deleteFrom('edge_mail').execute();
  await world.db.deleteFrom('sent_message').execute();
});

async function open(t: TestContext, name: EdgeName): Promise<Dialogue> {
  const dialogue = endsWith(t, await world.open(name));
  assert.match((await dialogue.line()) ?? '', /^(\* OK|\+OK|220)/);
  return dialogue;
}

async function signedInImap(t: TestContext, user = alice, secret = password): Promise<Dialogue> {
  const dialogue = await open(t, 'imaps');
  assert.match((await dialogue.imap(`LOGIN ${user} ${secret}`)).result, /^OK/);
  return dialogue;
}

async function signedInPop3(t: TestContext): Promise<Dialogue> {
  const dialogue = await open(t, 'pop3s');
  assert.match((await dialogue.ask(`USER ${alice}`)) ?? '', /^\+OK/);
  assert.match((await dialogue.ask(`PASS ${password}`)) ?? '', /^\+OK/);
  return dialogue;
}

/** A multi-line response of POP3 behind its first line, dots removed. */
async function linesOf(dialogue: Dialogue): Promise<string[]> {
  const lines: string[] = [];
  for (let line = await dialogue.line(); line !== '.'; line = await dialogue.line()) {
    assert.ok(line !== undefined);
    lines.push(line.replace(/^\./, ''));
  }
  return lines;
}

let count = 0;
/** Each one is another message, also for those who look for replays. */
const content = (subject: string): string =>
  [
    `From: "Dr. Bob" <${bob}>`,
    `To: ${alice}`,
    `Subject: ${subject}`,
    `Date: Sat, 21 Nov 2026 11:00:00 +0000`,
    `Message-ID: <${subject}.${++count}@beta.example>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain; charset=utf-8',
    '',
    '.a line with a dot',
    '--b',
    'Content-Type: text/xml',
    'Content-Disposition: attachment; filename="note.xml"',
    'Content-Transfer-Encoding: base64',
    '',
    'PGEvPg==',
    '--b--',
    '',
  ].join('\r\n');

/** Returns its octets. */
async function receive(subject: string): Promise<string> {
  const inner = content(subject);
  await world.receive({ from: bob, to: [alice], inner });
  return inner;
}

const isAcknowledged = async (): Promise<boolean> =>
  (await world.messaging.listInbox(world.clinic, {})).messages.length === 0;

describe('IMAP', () => {
  it('ETT 201, 209, 210, 217: capabilities, bad syntax, bad state, bad passwords', async (t) => {
    const dialogue = await open(t, 'imaps');
    const { untagged } = await dialogue.imap('CAPABILITY');
    assert.match(untagged[0] ?? '', /^\* CAPABILITY IMAP4rev1 AUTH=PLAIN/);
    assert.equal((await dialogue.imap('NOOP')).result, 'OK done');
    for (const [command, answer] of [
      ['FETCH 1 FLAGS', /^BAD Sign in first/],
      ['NONSENSE', /^BAD/],
      ['LOGIN "a', /^BAD/],
      ['LOGIN a', /^BAD/],
      ['LOGIN (a) b)', /^BAD/],
      [`LOGIN ${alice} wrong`, /^NO \[AUTHENTICATIONFAILED\]/],
      ['AUTHENTICATE CRAM-MD5', /^NO/],
      [`AUTHENTICATE PLAIN ${Buffer.from(`\0${alice}\0wrong`).toString('base64')}`, /^NO/],
    ] as const)
      assert.match((await dialogue.imap(command)).result, answer, command);
    assert.match((await dialogue.imap(`LOGIN {${alice.length}+}\r\n${alice} "${password}"`)).result, /^OK/);
    assert.match((await dialogue.imap('FETCH 1 FLAGS')).result, /^BAD Select a mailbox first/);
    assert.match((await dialogue.imap('LOGOUT')).result, /^OK/);
  });

  it('a password is taken inside TLS alone, and what was typed before it is not of the session', async (t) => {
    const dialogue = await open(t, 'imap');
    assert.match((await dialogue.imap('CAPABILITY')).untagged[0] ?? '', /STARTTLS LOGINDISABLED/);
    assert.match((await dialogue.imap(`LOGIN ${alice} ${password}`)).result, /^NO \[PRIVACYREQUIRED\]/);
    dialogue.send('a STARTTLS\r\nb LOGIN x y\r\n');
    assert.equal(await dialogue.line(), undefined);
    const other = await open(t, 'imap');
    assert.match((await other.imap('STARTTLS')).result, /^OK/);
    await other.startTls(world.ca);
    assert.match((await other.imap(`LOGIN ${alice} ${password}`)).result, /^OK/);
    const pop = await open(t, 'pop3');
    assert.match((await pop.ask(`USER ${alice}`)) ?? '', /^-ERR/);
    pop.send('STLS\r\nUSER x\r\n');
    assert.equal(await pop.line(), undefined);
  });

  it('an empty mailbox answers what programs ask it again and again, and nobody is sent away for it', async (t) => {
    const dialogue = await signedInImap(t);
    assert.ok((await dialogue.imap('SELECT INBOX')).untagged.includes('* 0 EXISTS'));
    for (let count = 0; count < 30; count++) {
      for (const set of ['1:*', '*'])
        assert.deepEqual(await dialogue.imap(`FETCH ${set} FLAGS`), { untagged: [], result: 'OK done' });
      // A number that has no message is a fault, but of somebody who is understood otherwise.
      assert.match((await dialogue.imap('FETCH 1 FLAGS')).result, /^BAD/);
    }
  });

  it('ETT 205, 232: a message, its structure and its parts in pieces, octet for octet', async (t) => {
    const whole = await receive('first');
    await receive('second');
    const dialogue = await signedInImap(t);
    const { untagged, result } = await dialogue.imap('SELECT Inbox');
    assert.match(result, /^OK \[READ-WRITE\]/);
    assert.ok(untagged.includes('* 2 EXISTS'));
    const [fetched = ''] = (await dialogue.imap('FETCH 1 (RFC822.SIZE BODYSTRUCTURE ENVELOPE)')).untagged;
    assert.ok(fetched.includes(`RFC822.SIZE ${whole.length} `));
    assert.ok(
      fetched.includes(
        'BODYSTRUCTURE (("text" "plain" ("charset" "utf-8") NIL NIL "7bit" 18 0 NIL NIL NIL NIL)("text" "xml" NIL NIL NIL "base64" 8 0 NIL ("attachment" ("filename" "note.xml")) NIL NIL) "mixed" ("boundary" "b") NIL NIL NIL)',
      ),
      fetched,
    );
    assert.ok(fetched.includes('"first" (("Dr. Bob" NIL "bob" "direct.beta.example"))'), fetched);
    for (const [section, octets] of [
      ['BODY.PEEK[]', whole],
      ['BODY.PEEK[1]', '.a line with a dot'],
      ['BODY.PEEK[2]', 'PGEvPg=='],
      ['BODY.PEEK[2]<2.3>', 'Evx'.slice(0, 1) + 'vP'],
      ['BODY.PEEK[2.MIME]', whole.slice(whole.indexOf('Content-Type: text/xml'), whole.indexOf('PGEv'))],
      ['BODY.PEEK[HEADER.FIELDS (Subject X-None)]', 'Subject: first\r\n\r\n'],
      ['BODY.PEEK[TEXT]<0.3>', '--b'],
      ['BODY.PEEK[]<100000.5>', ''],
    ] as const) {
      const answer = (await dialogue.imap(`FETCH 1 ${section}`)).untagged[0] ?? '';
      assert.match(answer, new RegExp(`\\{${octets.length}\\}\\n`), section);
      assert.equal(answer.slice(answer.indexOf('}\n') + 2, -1), octets, section);
    }
    assert.match((await dialogue.imap('FETCH 1 BODY.PEEK[3]')).untagged[0] ?? '', /BODY\[3\] NIL\)$/);
    assert.match((await dialogue.imap('FETCH 7 FLAGS')).result, /^BAD/);
    assert.match((await dialogue.imap('UID FETCH 7000 FLAGS')).result, /^OK/);
    assert.match((await dialogue.imap('FETCH 1 NONSENSE')).result, /^BAD/);
  });

  it('searches as clients do', async (t) => {
    await receive('first');
    world.clock.advance(86_400_000 * 2);
    await receive('second');
    const dialogue = await signedInImap(t);
    await dialogue.imap('SELECT INBOX');
    await dialogue.imap('STORE 1 +FLAGS (\\Seen)');
    for (const [query, found] of [
      ['ALL', '1 2'],
      ['UNSEEN', '2'],
      ['SEEN', '1'],
      ['1:500 UNSEEN', '2'],
      ['SINCE 22-Nov-2026', '2'],
      ['BEFORE 22-Nov-2026', '1'],
      ['SUBJECT "sec"', '2'],
      ['OR SUBJECT first FROM nobody', '1'],
      ['NOT (SUBJECT first)', '2'],
      ['TEXT "line with a DOT" LARGER 10', '1 2'],
      ['BODY nowhere', ''],
      ['HEADER Message-ID <second.', '2'],
      ['SENTON 21-Nov-2026', '1 2'],
      ['CHARSET UTF-8 SUBJECT {5+}\r\nfirst', '1'],
    ] as const)
      assert.deepEqual(
        (await dialogue.imap(`SEARCH ${query}`)).untagged,
        [`* SEARCH ${found}`.trim()],
        query,
      );
    for (const bad of ['', 'NONSENSE', 'SINCE yesterday', 'LARGER x', '('.repeat(30)])
      assert.match((await dialogue.imap(`SEARCH ${bad}`)).result, /^BAD/, bad);
  });

  it('a message that was fetched whole or marked is acknowledged, a look at its header is not', async (t) => {
    await receive('first');
    const dialogue = await signedInImap(t);
    await dialogue.imap('SELECT INBOX');
    await dialogue.imap('FETCH 1 (ENVELOPE BODYSTRUCTURE BODY.PEEK[HEADER] BODY.PEEK[]<0.50>)');
    assert.equal(await isAcknowledged(), false);
    await dialogue.imap('FETCH 1 BODY.PEEK[]');
    assert.equal(await isAcknowledged(), true);
    assert.equal((await dialogue.imap('FETCH 1 FLAGS')).untagged[0], '* 1 FETCH (FLAGS ())');
    await receive('second');
    assert.ok((await dialogue.imap('NOOP')).untagged.includes('* 2 EXISTS'));
    const [answer = ''] = (await dialogue.imap('FETCH 2 BODY[1]')).untagged;
    assert.ok(answer.includes('FLAGS (\\Seen)'), answer);
    assert.equal(await isAcknowledged(), true);
  });

  it('two sessions see what the other does; UIDs never change, and expunged ones never come back', async (t) => {
    for (const name of ['first', 'second', 'third']) await receive(name);
    const [one, two] = [await signedInImap(t), await signedInImap(t)];
    const uidsOf = async (dialogue: Dialogue) =>
      (await dialogue.imap('UID SEARCH ALL')).untagged[0]?.split(' ').slice(2).map(Number) ?? [];
    await one.imap('SELECT INBOX');
    await two.imap('SELECT INBOX');
    const uids = await uidsOf(one);
    assert.equal(uids.length, 3);
    assert.deepEqual(await uidsOf(two), uids);
    await one.imap(`UID STORE ${uids[0]} +FLAGS.SILENT (\\Deleted \\Flagged)`);
    assert.ok((await two.imap('NOOP')).untagged.some((line) => line.includes('\\Flagged \\Deleted')));
    assert.deepEqual((await one.imap('EXPUNGE')).untagged, ['* 1 EXPUNGE']);
    // In the middle of a FETCH no number may change.
    assert.deepEqual((await two.imap('FETCH 2 UID')).untagged, [`* 2 FETCH (UID ${uids[1]})`]);
    assert.match((await two.imap('FETCH 1 BODY.PEEK[]')).result, /^(OK|NO \[EXPUNGEISSUED\])/);
    assert.ok((await two.imap('NOOP')).untagged.includes('* 1 EXPUNGE'));
    assert.deepEqual(await uidsOf(two), uids.slice(1));
    const third = await signedInImap(t);
    await third.imap('EXAMINE INBOX');
    assert.match((await third.imap('STORE 1 +FLAGS (\\Seen)')).result, /^NO \[READ-ONLY\]/);
    assert.deepEqual(await uidsOf(third), uids.slice(1));
  });

  it('IDLE tells of new mail at once, and ends with DONE', async (t) => {
    const dialogue = await signedInImap(t);
    await dialogue.imap('SELECT INBOX');
    dialogue.send('i IDLE\r\n');
    assert.equal(await dialogue.line(), '+ idling');
    await receive('first');
    assert.equal(await dialogue.line(), '* 1 EXISTS');
    assert.equal(await dialogue.ask('DONE'), 'i OK done');
  });

  it('Sent holds what the account sent, as it went out, with its state; what programs store there is there', async (t) => {
    const { deliveries } = world;
    const mail = [
      `From: ${alice}`,
      `To: ${bob}`,
      'Subject: sent',
      'Date: Sat, 21 Nov 2026 11:00:00 +0000',
      `Message-ID: <sent.${++count}@client.example>`,
      'MIME-Version: 1.0',
      '',
      'x'.repeat(9_000),
      '',
    ].join('\r\n');
    await world.submitAs(alice, { from: alice, to: [bob], message: Buffer.from(mail) });
    const dialogue = await signedInImap(t);
    assert.deepEqual((await dialogue.imap('LIST (SPECIAL-USE) "" "*"')).untagged, [
      '* LIST (\\HasNoChildren \\Sent) "/" Sent',
      '* LIST (\\HasNoChildren \\Trash) "/" Trash',
    ]);
    const { untagged, result } = await dialogue.imap('SELECT sent');
    assert.match(result, /^OK \[READ-ONLY\]/);
    assert.ok(untagged.includes('* 1 EXISTS'), untagged.join());
    const [fetched = ''] = (await dialogue.imap('FETCH 1 (FLAGS RFC822.SIZE BODY.PEEK[])')).untagged;
    assert.ok(fetched.includes('FLAGS (\\Seen $Queued)'), fetched);
    const went = Buffer.from(deliveries.at(-1)?.message ?? '').toString();
    assert.ok(went.includes('x'.repeat(9_000)) && fetched.includes(went));
    for (const [state, flags] of [
      ['processed', '\\Seen $Processed'],
      ['expired', '\\Seen \\Flagged $Expired'],
    ] as const) {
      await world.db.updateTable('message_recipient').set({ state }).execute();
      assert.ok(
        (await dialogue.imap('NOOP')).untagged.some((line) => line.endsWith(`FLAGS (${flags}))`)),
        state,
      );
    }
    assert.deepEqual((await dialogue.imap('SEARCH KEYWORD $Expired UNKEYWORD $Failed')).untagged, [
      '* SEARCH 1',
    ]);
    assert.match((await dialogue.imap('STORE 1 +FLAGS (\\Deleted)')).result, /^NO \[READ-ONLY\]/);
    assert.match((await dialogue.imap('MOVE 1 Trash')).result, /^NO \[CANNOT\]/);
    // The octets behind it are taken or refused as a whole, and the next command is understood.
    dialogue.send(`a APPEND Sent (\\Seen) {${mail.length}}\r\n`);
    assert.match((await dialogue.line()) ?? '', /^\+ /);
    assert.match((await dialogue.ask(`${mail}\r`)) ?? '', /^a OK \[APPENDUID \d+ 1\] It is there already/);
    dialogue.send('b APPEND Drafts {30000000}\r\n');
    assert.match((await dialogue.line()) ?? '', /^b NO \[CANNOT\]/);
    assert.match((await dialogue.imap(`APPEND Sent {12+}\r\nSubject: x\r\n`)).result, /^NO \[CANNOT\]/);
    assert.match((await dialogue.imap('NOOP')).result, /^OK/);
  });

  it('deleting by moving to Trash is reception, and can be taken back', async (t) => {
    for (const name of ['first', 'second', 'third']) await receive(name);
    const [one, two] = [await signedInImap(t), await signedInImap(t)];
    await two.imap('SELECT INBOX');
    await one.imap('SELECT INBOX');
    const moved = await one.imap('MOVE 1:2 Trash');
    assert.match(moved.untagged[0] ?? '', /^\* OK \[COPYUID \d+ \d+:\d+ \d+:\d+\] moved/);
    assert.deepEqual(moved.untagged.slice(1), ['* 2 EXPUNGE', '* 1 EXPUNGE']);
    assert.equal((await world.messaging.listInbox(world.clinic, {})).messages.length, 1);
    assert.ok((await two.imap('NOOP')).untagged.includes('* 2 EXPUNGE'));
    // As programs without MOVE do it.
    assert.match((await two.imap('COPY 1 Trash')).result, /^OK \[COPYUID/);
    await two.imap('STORE 1 +FLAGS (\\Deleted)');
    assert.deepEqual((await two.imap('EXPUNGE')).untagged, ['* 1 EXPUNGE']);
    assert.ok((await two.imap('SELECT Trash')).untagged.includes('* 3 EXISTS'));
    assert.match((await two.imap('FETCH 3 BODY.PEEK[HEADER.FIELDS (Subject)]')).untagged[0] ?? '', /third/);
    await two.imap('MOVE 3 INBOX');
    assert.ok((await one.imap('NOOP')).untagged.includes('* 1 EXISTS'));
    assert.match((await one.imap('FETCH 1 (FLAGS ENVELOPE)')).untagged[0] ?? '', /FLAGS \(\).*"third"/);
    assert.match((await one.imap('MOVE 1 INBOX')).result, /^NO \[CANNOT\]/);
    await two.imap('STORE 1:* +FLAGS.SILENT (\\Deleted)');
    await two.imap('CLOSE');
    assert.match((await two.imap('STATUS Trash (MESSAGES)')).untagged[0] ?? '', /MESSAGES 0\)/);
  });

  it('another account sees nothing of it, and a disabled one is told to go', async (t) => {
    await receive('first');
    const other = await world.createAccount({ clientId: 'other', username: mallory, addresses: [mallory] });
    const dialogue = await signedInImap(t, mallory, other.password);
    assert.ok((await dialogue.imap('SELECT INBOX')).untagged.includes('* 0 EXISTS'));
    await world.edges.accounts.disable(mallory);
    assert.match((await dialogue.imap('NOOP')).untagged[0] ?? '', /^\* BYE/);
    const reader = await signedInImap(t);
    await reader.imap('SELECT INBOX');
    await world.edges.accounts.disable(alice);
    const { untagged } = await reader.imap('FETCH 1:* (BODY.PEEK[])');
    assert.deepEqual(untagged, ['* BYE This account was disabled, or its password revoked']);
    await world.edges.accounts.enable(alice);
    await assert.rejects(
      world.createAccount({ username: 'x', addresses: [mallory] }),
      /EDGES_ACCOUNT_SETTINGS_INVALID|does not belong/,
    );
    await assert.rejects(world.createAccount({ addresses: [anna] }), /already/);
  });

  it('a revoked password ends the sessions that began with it, and no others', async (t) => {
    const next = await world.edges.accounts.rotatePassword(alice);
    const [old, ended] = [await signedInImap(t), await signedInImap(t, alice, next.password)];
    await old.imap('SELECT INBOX');
    await ended.imap('SELECT INBOX');
    await world.edges.accounts.revokePassword(alice, next.passwordId);
    assert.match((await ended.imap('FETCH 1:* FLAGS')).untagged[0] ?? '', /^\* BYE .*password revoked$/);
    assert.match((await old.imap('NOOP')).result, /^OK/);
  });

  it('hostile input is refused before it costs memory', async (t) => {
    const dialogue = await open(t, 'imaps');
    assert.match((await dialogue.imap('LOGIN {999999999}')).result, /^BAD The literal is too large/);
    assert.match((await dialogue.imap(`LOGIN ${'('.repeat(2000)}`)).result, /^BAD/);
    assert.match((await dialogue.imap('LOGIN {20000+}\r\n' + 'x'.repeat(20_000))).result, /^BAD/);
    assert.match((await dialogue.imap('NOOP')).result, /^OK/);
    const bad = await open(t, 'imaps');
    bad.send('y'.repeat(40_000));
    assert.match((await bad.line()) ?? '', /^\* BYE/);
    const babble = await open(t, 'imaps');
    for (let count = 0; count < 19; count++) assert.match((await babble.imap('FOO')).result, /^BAD/);
    assert.ok((await babble.imap('FOO')).result.startsWith('BAD'));
    assert.match((await babble.line()) ?? '', /^\* BYE/);
  });
});

describe('POP3', () => {
  it('ETT 301, 309, 310, 317: CAPA, bad syntax, bad state, bad passwords', async (t) => {
    const dialogue = await open(t, 'pop3s');
    assert.match((await dialogue.ask('CAPA')) ?? '', /^\+OK/);
    assert.deepEqual(
      (await linesOf(dialogue)).filter((line) => ['UIDL', 'TOP', 'USER'].includes(line)),
      ['TOP', 'UIDL', 'USER'],
    );
    for (const bad of ['STAT', 'RETR 1', 'PASS x', 'FOO', 'USER'])
      assert.match((await dialogue.ask(bad)) ?? '', /^-ERR/, bad);
    await dialogue.ask(`USER ${alice}`);
    assert.match((await dialogue.ask('PASS wrong')) ?? '', /^-ERR \[AUTH\]/);
    const plain = Buffer.from(`\0${alice}\0${password}`).toString('base64');
    assert.match((await dialogue.ask(`AUTH PLAIN ${plain}`)) ?? '', /^\+OK/);
  });

  it('ETT 303, 332: a message comes with its dots doubled, is removed at QUIT alone, and is then acknowledged', async (t) => {
    const whole = await receive('first');
    const dialogue = await signedInPop3(t);
    assert.equal(await dialogue.ask('STAT'), `+OK 1 ${whole.length}`);
    await dialogue.ask('TOP 1 1');
    assert.deepEqual((await linesOf(dialogue)).slice(-2), ['', '--b']);
    assert.equal(await isAcknowledged(), false);
    assert.equal(await dialogue.ask('RETR 1'), '+OK');
    assert.equal(`${(await linesOf(dialogue)).join('\r\n')}\r\n`, whole);
    await waitUntil(isAcknowledged);
    assert.match((await dialogue.ask('DELE 1')) ?? '', /^\+OK/);
    assert.match((await dialogue.ask('RETR 1')) ?? '', /^-ERR/);
    dialogue.end();
    const next = await signedInPop3(t);
    assert.match((await next.ask('DELE 1')) ?? '', /^\+OK/);
    assert.match((await next.ask('QUIT')) ?? '', /^\+OK/);
    const last = await signedInPop3(t);
    assert.equal(await last.ask('STAT'), '+OK 0 0');
  });

  for (const command of ['STAT', 'LIST', 'TOP 1 0', 'RETR 1', 'DELE 1', 'QUIT'])
    it(`an account that was disabled is told to go at its ${command}, and nothing is removed`, async (t) => {
      await receive('first');
      const dialogue = await signedInPop3(t);
      if (command === 'QUIT') await dialogue.ask('DELE 1');
      await world.edges.accounts.disable(alice);
      assert.equal(
        await dialogue.ask(command),
        '-ERR [AUTH] This account was disabled, or its password revoked',
      );
      await world.edges.accounts.enable(alice);
      assert.match((await (await signedInPop3(t)).ask('STAT')) ?? '', /^\+OK 1 /);
    });

  it('two sessions of one mailbox: each keeps its numbers, and what each marked is removed', async (t) => {
    for (const subject of ['one', 'two', 'three']) await receive(subject);
    const [first, second] = [await signedInPop3(t), await signedInPop3(t)];
    assert.match((await first.ask('DELE 1')) ?? '', /^\+OK/);
    assert.match((await second.ask('DELE 2')) ?? '', /^\+OK/);
    assert.match((await first.ask('QUIT')) ?? '', /^\+OK/);
    // What the other one removed stays as it was listed until this one ends.
    for (const [number, subject] of [
      [1, 'one'],
      [3, 'three'],
    ] as const) {
      assert.equal(await second.ask(`RETR ${number}`), '+OK');
      assert.match((await linesOf(second)).join('\n'), new RegExp(`Subject: ${subject}`));
    }
    assert.match((await second.ask('DELE 1')) ?? '', /^\+OK/);
    assert.match((await second.ask('QUIT')) ?? '', /^\+OK/);
    const last = await signedInPop3(t);
    assert.match((await last.ask('STAT')) ?? '', /^\+OK 1 /);
    assert.equal(await last.ask('RETR 1'), '+OK');
    assert.match((await linesOf(last)).join('\n'), /Subject: three/);
  });
});

describe('submission', () => {
  const greet = async (t: TestContext, name: EdgeName): Promise<Dialogue> => {
    const dialogue = await open(t, name);
    await ehlo(dialogue);
    return dialogue;
  };
  async function ehlo(dialogue: Dialogue): Promise<string> {
    let line = (await dialogue.ask('EHLO client.example')) ?? '';
    let all = line;
    while (line.startsWith('250-')) all += `\n${(line = (await dialogue.line()) ?? '')}`;
    return all;
  }
  const plain = (secret: string): string => Buffer.from(`\0${alice}\0${secret}`).toString('base64');

  it('ETT 16, 22: a sign-in inside TLS alone, and a bad password is 535', async (t) => {
    const dialogue = await open(t, 'submission');
    // A client that would send its password in clear is not invited to (RFC 4954 §4).
    const inClear = await ehlo(dialogue);
    assert.match(inClear, /STARTTLS/);
    assert.doesNotMatch(inClear, /AUTH/);
    assert.match((await dialogue.ask(`AUTH PLAIN ${plain(password)}`)) ?? '', /^538/);
    assert.match((await dialogue.ask(`MAIL FROM:<${alice}>`)) ?? '', /^530/);
    assert.match((await dialogue.ask('STARTTLS')) ?? '', /^220/);
    await dialogue.startTls(world.ca);
    assert.match(await ehlo(dialogue), /AUTH PLAIN LOGIN/);
    assert.match((await dialogue.ask(`AUTH PLAIN ${plain('wrong')}`)) ?? '', /^535/);
    assert.match((await dialogue.ask(`AUTH PLAIN ${plain(password)}`)) ?? '', /^235/);
  });

  it('sends as an address of the account alone, and never to an address that is unknown here', async (t) => {
    const dialogue = await greet(t, 'smtps');
    assert.match((await dialogue.ask(`AUTH PLAIN ${plain(password)}`)) ?? '', /^235/);
    assert.match((await dialogue.ask(`MAIL FROM:<${anna}>`)) ?? '', /^553 5\.7\.1/);
    assert.match((await dialogue.ask(`MAIL FROM:<${alice}>`)) ?? '', /^250/);
    assert.match((await dialogue.ask('RCPT TO:<nobody@direct.alpha.example>')) ?? '', /^550 5\.1\.1/);
    assert.match((await dialogue.ask(`RCPT TO:<${bob}>`)) ?? '', /^250/);
    assert.match((await dialogue.ask('DATA')) ?? '', /^354/);
    dialogue.send(`From: ${anna}\r\nTo: ${bob}\r\nSubject: x\r\n\r\nHi\r\n.\r\n`);
    assert.match((await dialogue.line()) ?? '', /^554 5\.6\.0 From/);
    assert.equal(world.deliveries.length, 0);
  });

  it('more recipients than one transaction takes get the message by a second one', async (t) => {
    const dialogue = await greet(t, 'smtps');
    assert.match((await dialogue.ask(`AUTH PLAIN ${plain(password)}`)) ?? '', /^235/);
    const limit = world.messaging.limits.maxRecipients;
    const all = Array.from({ length: limit + 1 }, (_, at) => `r${at}@direct.beta.example`);
    const header = `From: ${alice}\r\nTo: ${all.join(',\r\n ')}\r\nMessage-ID: <wide@client.example>\r\n`;
    let waiting = all;
    while (waiting.length > 0) {
      assert.match((await dialogue.ask(`MAIL FROM:<${alice}>`)) ?? '', /^250/);
      const answers: string[] = [];
      for (const to of waiting) answers.push((await dialogue.ask(`RCPT TO:<${to}>`)) ?? '');
      const left = waiting.filter((_, at) => answers[at]?.startsWith('250') !== true);
      assert.deepEqual(left, waiting.slice(limit));
      if (left.length > 0) assert.match(answers.at(-1) ?? '', /^452 4\.5\.3/);
      assert.match((await dialogue.ask('DATA')) ?? '', /^354/);
      dialogue.send(`${header}\r\nHi\r\n.\r\n`);
      assert.match((await dialogue.line()) ?? '', /^250/);
      waiting = left;
    }
    assert.deepEqual(
      world.deliveries.map(({ recipients }) => recipients.length),
      [limit, 1],
    );
  });

  it('a Message-ID with another text, and a header without an end, are refused in the words of mail', async (t) => {
    const dialogue = await greet(t, 'smtps');
    assert.match((await dialogue.ask(`AUTH PLAIN ${plain(password)}`)) ?? '', /^235/);
    const answers: string[] = [];
    for (const more of ['\r\nOne', '\r\nOther', `X: ${'x'.repeat(70_000)}\r\n\r\nOne`]) {
      for (const command of [`MAIL FROM:<${alice}>`, `RCPT TO:<${bob}>`, 'DATA']) await dialogue.ask(command);
      dialogue.send(`From: ${alice}\r\nTo: ${bob}\r\nMessage-ID: <one@client.example>\r\n${more}\r\n.\r\n`);
      answers.push((await dialogue.line()) ?? '');
    }
    assert.match(answers[0] ?? '', /^250/);
    assert.match(answers[1] ?? '', /^554 5\.6\.0 Message-ID: .* new Message-ID/);
    assert.match(answers[2] ?? '', /^554 5\.6\.0 .*header.* too large/);
  });

  for (const [id, isFinal, state, notice] of [
    ['101 to 104', false, 'failed', /^Undeliverable/],
    ['529', true, 'dispatched', /^Dispatched/],
    ['MT5 to MT8', false, 'processed', /^Processed/],
    ['521', true, 'processed', undefined],
    ['526, 527', true, 'expired', /^Undeliverable/],
  ] as const)
    it(`ETT ${id}: ${state} with${isFinal ? '' : 'out'} final delivery is ${notice === undefined ? 'silent' : 'one notice'} in the mailbox`, async (t) => {
      const account = await world.edges.accounts.get(alice);
      const session = { ...world.clinic, edgeAccount: account.accountId, edgeProtocol: 'submission' };
      await world.messaging.send(
        session,
        { fromDirectAddress: alice, toDirectAddress: bob, messageBody: 'x', requestFinalDelivery: isFinal },
        {},
      );
      const id = world.deliveries[0]?.deliveryId ?? '';
      await world.db.updateTable('message_recipient').set({ state }).where('message_id', '=', id).execute();
      const dialogue = await signedInImap(t);
      const { untagged } = await dialogue.imap('SELECT INBOX');
      assert.ok(untagged.includes(`* ${notice === undefined ? 0 : 1} EXISTS`), untagged.join());
      if (notice === undefined) return;
      const [envelope = ''] = (await dialogue.imap('FETCH 1 (RFC822.SIZE ENVELOPE BODY.PEEK[])')).untagged;
      assert.match(/ENVELOPE \("[^"]*" "([^"]*)"/.exec(envelope)?.[1] ?? '', notice);
      assert.match(envelope, /Original-Message-ID: |In-Reply-To: /i);
      // What nobody confirmed may have arrived all the same.
      assert.equal(/was not delivered/.test(envelope), state === 'failed');
      assert.equal(/may not have arrived/.test(envelope), state === 'expired');
      assert.ok(envelope.includes(`RFC822.SIZE ${/\{(\d+)\}/.exec(envelope)?.[1]} `));
      // A late one is never handed on (528).
      await world.db.updateTable('message_recipient').set({ state: 'dispatched' }).execute();
      assert.ok((await dialogue.imap('SELECT INBOX')).untagged.includes('* 1 EXISTS'));
    });
});
