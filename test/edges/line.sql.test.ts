/** The line edge as OpenEMR and LibreHealth EHR speak it; L1 to L14 are the traps of their source. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { alice, anna, bob, carol, waitUntil } from '../messaging/start-messaging.ts';
import { endsWith, forgetAll, startTestEdges, type Dialogue, type TestEdges } from './start-edges.ts';

let world: TestEdges;
let password: string;
before(async () => {
  world = await startTestEdges();
  ({ password } = await world.createAccount({ addresses: [alice, anna] }));
});
after(() => world.close());
beforeEach(async () => {
  world.deliveries.splice(0);
  await forgetAll(world);
});

async function signIn(t: TestContext): Promise<Dialogue> {
  const dialogue = endsWith(t, await world.open('line'));
  assert.equal(await dialogue.ask('INFO VER OEMR 7.0.2 1.3.2 8.2.1'), 'OK');
  assert.equal(await dialogue.ask(`AUTH ${alice} ${password}`), 'OK');
  return dialogue;
}

async function hand(dialogue: Dialogue, command: string, content: string): Promise<void> {
  assert.equal(await dialogue.ask(command), 'BEGIN');
  dialogue.send(content);
  assert.equal(await dialogue.line(), 'OK');
}

/** Sends a text; returns the id that the client keeps. */
async function sendText(dialogue: Dialogue, isFinal: '0' | '1' = '0'): Promise<string> {
  assert.equal(await dialogue.ask(`TO ${bob}`), 'OK');
  assert.equal(await dialogue.line(), bob);
  await hand(dialogue, 'TEXT 5', 'Hello');
  assert.equal(await dialogue.ask(`SET FINAL ${isFinal}`), 'OK');
  const [word, recipient, id = ''] = ((await dialogue.ask('SEND')) ?? '').split(' ');
  assert.deepEqual([word, recipient], ['QUEUED', bob]);
  dialogue.send('OK\n');
  return id;
}

const receive = (subject: string, more = '', to: readonly string[] = [alice]) =>
  world.receive({
    from: bob,
    to,
    inner: `From: ${bob}\nTo: ${to[0]}\nSubject: ${subject}\nMessage-ID: <${subject.replaceAll(/\W/g, '')}@beta.example>\n${more || '\nBody of it'}`,
  });

/** Takes everything that waits, as the client's poll does; what is not confirmed stays. */
async function poll(dialogue: Dialogue): Promise<string[]> {
  const seen: string[] = [];
  for (;;) {
    const answer = (await dialogue.ask('CHECK')) ?? 'ended';
    seen.push(answer);
    if (answer.startsWith('STATUS')) assert.equal(await dialogue.ask('OK'), 'OK');
    else if (answer.startsWith('MAIL')) {
      await showMain(dialogue);
      assert.equal(await dialogue.ask('DONE'), 'OK');
    } else return seen;
  }
}

interface Shown {
  readonly header: readonly string[];
  readonly type: string;
  readonly text: string;
  readonly attachments: readonly (readonly string[])[];
}

async function showMain(dialogue: Dialogue): Promise<Shown> {
  dialogue.send('SHOW 0\n');
  assert.equal(await dialogue.line(), 'OK');
  const header: string[] = [];
  for (let line = await dialogue.line(); line !== ''; line = await dialogue.line()) {
    assert.ok(line !== undefined, 'the header section must end in an empty line');
    header.push(line);
  }
  // They keep all before a semicolon; without one, LibreHealth EHR and older OpenEMR keep the line end too.
  const type = `${await dialogue.line()}\n`.split(';', 1)[0] ?? '';
  const text = (await dialogue.octets(Number(await dialogue.line()))).toString();
  const attachments: string[][] = [];
  for (let left = Number(await dialogue.line()); left > 0; left--) {
    const [name = '', media = '', title = ''] = [
      await dialogue.line(),
      await dialogue.line(),
      await dialogue.line(),
    ];
    attachments.push([name, media, title]);
  }
  return { header, type, text, attachments };
}

describe('a client sends', () => {
  it('a text and documents; what was committed is answered with one id for each recipient (L4)', async (t) => {
    const dialogue = await signIn(t);
    for (const address of [bob, carol]) {
      assert.equal(await dialogue.ask(`TO ${address}`), 'OK');
      assert.equal(await dialogue.line(), address);
    }
    await hand(dialogue, 'TEXT 12', 'See the note');
    await hand(dialogue, 'ADD CDA 4 my visit note.xml', '<a/>');
    await hand(dialogue, 'ADD RAW 5 x.pdf', '%PDF-');
    await hand(dialogue, 'ADD TEXT 0 ', '');
    assert.equal(await dialogue.ask('SET FINAL 1'), 'OK');
    const first = (await dialogue.ask('SEND'))?.split(' ') ?? [];
    const second = (await dialogue.line())?.split(' ') ?? [];
    assert.deepEqual([first[0], first[1], second[1]], ['QUEUED', bob, carol]);
    assert.match(first[2] ?? '', /^[\w.-]{1,64}$/);
    assert.notEqual(first[2], second[2]);
    const status = await world.messaging.getStatus(world.clinic, `urn:uuid:${first[2]}`);
    assert.equal(status.requestsFinalDelivery, true);
    const sent = Buffer.from(world.deliveries[0]?.message ?? '').toString();
    assert.match(sent, /filename="my visit note\.xml"/);
    assert.match(sent, /See the note/);
  });

  it('to somebody who cannot be reached: why is one line of at most 255 octets', async (t) => {
    const dialogue = await signIn(t);
    const refusal = { isTransient: false, detail: '', isInternal: false } as const;
    world.refusals.set(bob, {
      ...refusal,
      recipient: bob,
      reason: 'no-certificate',
      statusCode: '5.7.31',
    } as never);
    t.after(() => world.refusals.clear());
    for (const [text, why] of [
      ['nobody', /not a Direct address/],
      [bob, /no certificate was found/],
      ['nobody@direct.alpha.example', /there is no address/],
      [`${'x'.repeat(300)}@b.example`, /not a Direct address/],
    ] as const) {
      const answer = (await dialogue.ask(`TO ${text}`)) ?? '';
      assert.match(answer, why);
      assert.ok(answer.startsWith('ERROR ') && Buffer.byteLength(answer) <= 255, answer);
    }
    assert.match((await dialogue.ask('SEND')) ?? '', /^ERROR no recipient/);
  });

  it('too much, or what is no command: nothing is read into memory, and the session goes on', async (t) => {
    const dialogue = await signIn(t);
    for (const [command, answer] of [
      ['TEXT 999999999', /too large/],
      ['TEXT -1', /number of octets/],
      ['ADD EXE 3 a', /kinds of parts/],
      ['SET FINAL 2', /FINAL/],
      ['SHOW 0', /no message/],
      ['DONE', /no message/],
      ['NOSUCH', /unknown command/],
    ] as const)
      assert.match((await dialogue.ask(command)) ?? '', answer);
    assert.equal(await dialogue.ask('CHECK'), 'NONE');
    assert.match((await dialogue.ask('X'.repeat(5000))) ?? '', /^ERROR/);
    assert.equal(await dialogue.line(), undefined);
  });

  it('only after a sign-in; passwords keep their blanks, and guessing is held back (L11)', async (t) => {
    const dialogue = endsWith(t, await world.open('line'));
    assert.match((await dialogue.ask('CHECK')) ?? '', /sign in first/);
    for (let count = 0; count < 3; count++)
      assert.match(
        (await dialogue.ask(`AUTH ${alice} wrong ${count}`)) ?? '',
        /^ERROR User name or password/,
      );
    assert.equal(await dialogue.line(), undefined);
    await world.createAccount({ username: anna, addresses: [anna], password: 'four words with blanks ' });
    const other = endsWith(t, await world.open('line'));
    assert.equal(await other.ask(`AUTH ${anna} four words with blanks `), 'OK');
  });
});

describe('answers', () => {
  it('are the octets that clients compare, each ended by LF alone (L13)', async (t) => {
    const dialogue = endsWith(t, await world.open('line'));
    for (const [said, answer] of [
      ['INFO VER OEMR 7.0.2 1.3.2 8.2.1\n', 'OK\n'],
      [`AUTH ${alice} ${password}\n`, 'OK\n'],
      ['CHECK\n', 'NONE\n'],
      [`TO ${bob}\n`, `OK\n${bob}\n`],
      ['TEXT 0\n', 'BEGIN\nOK\n'],
      ['ADD RAW 1 \n', 'BEGIN\n'],
      ['x', 'OK\n'],
      ['SET FINAL 0\n', 'OK\n'],
    ] as const) {
      dialogue.send(said);
      assert.equal((await dialogue.octets(answer.length)).toString(), answer, said.split(' ', 1)[0]);
    }
    // Nothing is behind the last one.
    dialogue.send('DONE\n');
    assert.match((await dialogue.line()) ?? '', /^ERROR there is no message/);
  });

  it('SEND is stored before it is answered, and goes out when the client is gone by then (L14)', async (t) => {
    const dialogue = await signIn(t);
    const { send } = world.messaging;
    let goOn = (): void => {};
    const isGone = new Promise<void>((resolve) => (goOn = resolve));
    let isAsked = false;
    Object.assign(world.messaging, {
      send: async (...args: Parameters<typeof send>) => {
        isAsked = true;
        await isGone;
        return send(...args);
      },
    });
    t.after(() => Object.assign(world.messaging, { send }));
    assert.equal(await dialogue.ask(`TO ${bob}`), 'OK');
    await dialogue.line();
    await hand(dialogue, 'TEXT 5', 'Hello');
    dialogue.send('SEND\n');
    await waitUntil(() => isAsked);
    dialogue.end();
    goOn();
    await waitUntil(() => world.deliveries.length === 1, 'the message');
  });
});

describe('a client is told what became of it', () => {
  it('not before it can know the id, once, and with one code (L3, L5, L6)', async (t) => {
    const dialogue = await signIn(t);
    const id = await sendText(dialogue);
    const failed = await sendText(dialogue, '1');
    const [first, second] = world.deliveries;
    await world.report({ deliveryId: first?.deliveryId ?? '', outcome: 'sent' });
    await world.report({
      deliveryId: second?.deliveryId ?? '',
      outcome: 'failed',
      reason: 'unreachable',
    } as never);
    assert.deepEqual(await poll(dialogue), ['NONE']);
    world.clock.advance(11_000);
    const [status, ...rest] = await poll(dialogue);
    assert.match(status ?? '', new RegExp(`^STATUS ${failed} failed 5\\.\\d\\.\\d+ ${bob}: `));
    assert.deepEqual(rest, ['NONE']);
    await world.db
      .updateTable('message_recipient')
      .set({ state: 'processed' })
      .where('message_id', '=', first?.deliveryId ?? '')
      .execute();
    assert.deepEqual(await poll(dialogue), [`STATUS ${id} dispatched`, 'NONE']);
    // ETT 528: one that is dispatched after its failure was told is told nobody.
    await world.db.updateTable('message_recipient').set({ state: 'dispatched' }).execute();
    assert.deepEqual(await poll(dialogue), ['NONE']);
  });

  it('again if it did not confirm, and never of what was sent by REST or as mail, whose client is told by mail', async (t) => {
    const { messageId } = await world.messaging.send(
      world.clinic,
      { fromDirectAddress: alice, toDirectAddress: bob, messageBody: 'by REST' },
      {},
    );
    const mail = `From: ${alice}\r\nTo: ${bob}\r\nMessage-ID: <mail@host.example>\r\n\r\nHi\r\n`;
    await world.submitAs(alice, { from: alice, to: [bob], message: Buffer.from(mail) });
    const dialogue = await signIn(t);
    const id = await sendText(dialogue);
    await world.db.updateTable('message_recipient').set({ state: 'failed', reason: 'untrusted' }).execute();
    world.clock.advance(11_000);
    assert.match((await dialogue.ask('CHECK')) ?? '', new RegExp(`^STATUS ${id} failed`));
    dialogue.end();
    // The lease of a client that is gone ends with its session.
    await waitUntil(async () => {
      const { accountId } = await world.edges.accounts.get(alice);
      return world.edges.leases.take(accountId, 'test');
    });
    await world.edges.leases.release((await world.edges.accounts.get(alice)).accountId, 'test');
    const next = await signIn(t);
    const seen = await poll(next);
    assert.equal(seen.length, 2);
    assert.ok(!seen.join().includes(messageId.slice(9)));
    const imap = endsWith(t, await world.open('imaps'));
    await imap.line();
    assert.match((await imap.imap(`LOGIN ${alice} ${password}`)).result, /^OK/);
    assert.match((await imap.imap('SELECT INBOX')).result, /^OK/);
    const dsns = (await imap.imap('FETCH 1:* BODY.PEEK[]')).untagged.filter((one) =>
      /Undeliverable/.test(one),
    );
    assert.equal(dsns.length, 1);
    assert.match(dsns[0] ?? '', /<mail@host\.example>/);
  });
});

describe('a client receives', () => {
  it('text, attachments and header lines of the right form, and the message leaves the queue by DONE alone (L1, L7, L10)', async (t) => {
    await receive(
      'Übung mit\u2028Zeilen',
      'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=utf-8\n\nGrüße\n--b\nContent-Type: text/xml\nContent-Disposition: attachment; filename=note.xml\n\n<a/>\n--b--\n',
    );
    const dialogue = await signIn(t);
    const mail = (await dialogue.ask('CHECK')) ?? '';
    assert.match(mail, new RegExp(`^MAIL ${alice} ${bob} 1 [0-9a-f-]{36}$`));
    const shown = await showMain(dialogue);
    assert.equal(shown.text, 'Grüße');
    assert.equal(shown.type, 'text/plain');
    assert.deepEqual(
      shown.attachments.map(([name, type]) => [name, type]),
      [['note.xml', 'text/xml']],
    );
    assert.ok(shown.header.every((line) => line !== '' && Buffer.byteLength(line) < 512));
    assert.ok(shown.header.some((line) => line.startsWith('Subject: Übung mit')));
    dialogue.send('SHOW 1\n');
    assert.deepEqual(
      [await dialogue.line(), await dialogue.line(), await dialogue.line(), await dialogue.line()],
      ['OK', 'note.xml', 'text/xml', '4'],
    );
    assert.equal((await dialogue.octets(4)).toString(), '<a/>');
    assert.match((await dialogue.ask('SHOW 2')) ?? '', /no such part/);
    // It was not confirmed, so it comes again, under the same id.
    assert.equal(await dialogue.ask('CHECK'), mail);
    assert.equal(await dialogue.ask('DONE'), 'OK');
    assert.equal(await dialogue.ask('CHECK'), 'NONE');
    const { messages } = await world.messaging.listInbox(world.clinic, {});
    assert.equal(messages.length, 0);
  });

  it('header lines of any text in a length that clients read, none of them empty (L2), and a document beyond 5 MB whole (L12)', async (t) => {
    const content = Buffer.alloc(6_000_000, 'a page of a scan\n').toString('base64');
    await receive(
      `${'ü'.repeat(700)}\r\n ${'x'.repeat(900)}\r\n  \t`,
      `MIME-Version: 1.0\nContent-Type: application/octet-stream; name="${'n'.repeat(600)}.bin"\nContent-Transfer-Encoding: base64\nContent-Disposition: attachment\n\n${content.replaceAll(/.{76}/g, '$&\n')}\n`,
    );
    const dialogue = await signIn(t);
    assert.match((await dialogue.ask('CHECK')) ?? '', /^MAIL/);
    const { header, attachments } = await showMain(dialogue);
    const lines = [...header, ...attachments.flat()];
    assert.ok(lines.every((line) => Buffer.byteLength(line) < 511));
    assert.ok(header.some((line) => /^Subject: ü{100}/.test(line)));
    dialogue.send('SHOW 1\n');
    for (let left = 3; left > 0; left--) await dialogue.line();
    assert.equal(await dialogue.line(), '6000000');
    assert.ok((await dialogue.octets(6_000_000)).equals(Buffer.from(content, 'base64')));
    assert.equal(await dialogue.ask('DONE'), 'OK');
  });

  it('one message by one of several pollers (L9), and what it cannot take last (L8)', async (t) => {
    await receive('poisoned');
    await receive('good');
    const one = await signIn(t);
    const two = await signIn(t);
    for (let round = 0; round < 3; round++) assert.match((await one.ask('CHECK')) ?? '', /^MAIL/);
    assert.equal(await two.ask('CHECK'), 'NONE');
    assert.match(world.logLines.join('\n'), /did not take a received message three times/);
    await one.ask('CHECK');
    const { header } = await showMain(one);
    assert.ok(header.includes('Subject: good'), header.join());
    assert.equal(await one.ask('DONE'), 'OK');
    assert.match((await one.ask('CHECK')) ?? '', /^MAIL/);
    assert.equal(await one.ask('DONE'), 'OK');
    one.send('BYE\n');
    assert.equal(await one.line(), undefined);
    assert.equal(await two.ask('CHECK'), 'NONE');
  });

  it('html alone as html, and nothing at all as an empty text', async (t) => {
    await receive('page', 'Content-Type: text/html\n\n<p>Hi</p>');
    await receive(
      'nothing',
      'Content-Type: application/pdf; name=a.pdf\nContent-Disposition: attachment\n\nx',
    );
    const dialogue = await signIn(t);
    await dialogue.ask('CHECK');
    assert.deepEqual((({ type, text }) => [type, text])(await showMain(dialogue)), [
      'text/html',
      '<p>Hi</p>',
    ]);
    await dialogue.ask('DONE');
    await dialogue.ask('CHECK');
    assert.deepEqual((({ type, text }) => [type, text])(await showMain(dialogue)), ['text/plain', '']);
    await dialogue.ask('DONE');
  });

  it('nothing more once its account is disabled, in the middle of a session', async (t) => {
    const dialogue = await signIn(t);
    await world.edges.accounts.disable(alice);
    t.after(() => world.edges.accounts.enable(alice));
    assert.match((await dialogue.ask('CHECK')) ?? '', /^ERROR this account was disabled/);
    assert.equal(await dialogue.line(), undefined);
  });
});
