import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { fc } from '../../../test/support/fast-check.ts';
import { createBudget } from '../../core/index.ts';
import { makeTlsCertificate } from '../../../test/support/tls-certificate.ts';
import type { SmtpHandlers, SmtpMessage } from './handlers.ts';
import { serverIdleMs } from './limits.ts';
import { createSmtpServer } from './server.ts';
import type { SmtpServerOptions } from './server-options.ts';

interface Started {
  readonly port: number;
  readonly messages: SmtpMessage[];
  readonly errors: unknown[];
}

type StartOptions = Partial<Omit<SmtpServerOptions, 'handlers'>> & {
  readonly handlers?: Partial<SmtpHandlers>;
};

async function start(t: TestContext, options: StartOptions = {}): Promise<Started> {
  const messages: SmtpMessage[] = [];
  const errors: unknown[] = [];
  const server = await createSmtpServer({
    host: '127.0.0.1',
    port: 0,
    hostname: 'mx.example.org',
    ...options,
    handlers: {
      onRecipient: async (address) =>
        address.toLowerCase().endsWith('@direct.example.org')
          ? 'accept'
          : { code: 550, enhancedCode: '5.7.1', text: 'Relaying denied' },
      onMessage: async (message) => void messages.push(message),
      onError: (error) => errors.push(error),
      ...options.handlers,
    },
  });
  t.after(() => server.close());
  return { port: server.port, messages, errors };
}

/**
 * Plays a written dialogue: what is sent, and how each reply must begin. A line without reply expects the
 * end.
 */
class Dialogue {
  readonly socket: Socket;
  #received = '';
  #isEnded = false;
  #wake = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1');
      this.#wake();
    });
    socket.on('close', () => {
      this.#isEnded = true;
      this.#wake();
    });
  }

  static async open(port: number): Promise<Dialogue> {
    const dialogue = new Dialogue(connect({ host: '127.0.0.1', port }));
    assert.match(await dialogue.reply(), /^220 mx\.example\.org ESMTP/);
    return dialogue;
  }

  /** The next whole reply; '' when the connection has ended. */
  async reply(): Promise<string> {
    for (;;) {
      const match = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(this.#received);
      if (match !== null) {
        this.#received = this.#received.slice(match[0].length);
        return match[0];
      }
      if (this.#isEnded) return '';
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async say(line: string | Buffer, expected: RegExp): Promise<string> {
    this.socket.write(typeof line === 'string' ? `${line}\r\n` : line);
    const reply = await this.reply();
    assert.match(reply, expected, String(line).slice(0, 100));
    return reply;
  }

  async greetAndAddress(): Promise<void> {
    await this.say('EHLO client.example.net', /^250/);
    await this.say('MAIL FROM:<a@example.net>', /^250 2\.1\.0/);
    await this.say('RCPT TO:<bob@direct.example.org>', /^250 2\.1\.5/);
    await this.say('DATA', /^354/);
  }
}

test('EDGE-08: EHLO announces SIZE, PIPELINING, 8BITMIME and enhanced codes, and nothing that is not served', async (t) => {
  const { port } = await start(t, { limits: { maxMessageBytes: 12_345 } });
  const dialogue = await Dialogue.open(port);
  const reply = await dialogue.say('EHLO client.example.net', /^250-mx\.example\.org/);
  for (const word of ['SIZE 12345', 'PIPELINING', '8BITMIME', 'ENHANCEDSTATUSCODES'])
    assert.match(reply, new RegExp(`250[ -]${word}\r`));
  for (const word of ['STARTTLS', 'AUTH', 'DSN', 'SMTPUTF8', 'XCLIENT'])
    assert.doesNotMatch(reply, new RegExp(word));
  await dialogue.say('STARTTLS', /^5/);
  await dialogue.say('AUTH PLAIN AGEAYg==', /^5/);
  await dialogue.say('QUIT', /^221/);
});

test('EDGE-04, ETT 11: bad syntax and commands out of order are refused, and the session continues', async (t) => {
  const { port, messages } = await start(t);
  const dialogue = await Dialogue.open(port);
  await dialogue.say('MAIL FROM:<a@b.org>', /^503 5\.5\.1/);
  await dialogue.say('FOO', /^500 5\.5\.2/);
  await dialogue.say('EHLO', /^501/);
  await dialogue.say('EHLO client.example.net', /^250/);
  await dialogue.say('RCPT TO:<bob@direct.example.org>', /^503/);
  await dialogue.say('DATA', /^503/);
  await dialogue.say('MAIL FROM:a@b.org', /^501 5\.1\.7/);
  await dialogue.say('MAIL FROM:<a b@c.org>', /^501/);
  await dialogue.say('MAIL FROM:<a@b.org> FOO', /^555 5\.5\.4/);
  await dialogue.say('MAIL FROM:<a@b.org> SIZE=x', /^5/);
  await dialogue.say('MAIL FROM:<>', /^250/);
  await dialogue.say('MAIL FROM:<a@b.org>', /^503/);
  await dialogue.say('RCPT TO:<>', /^501 5\.1\.3/);
  await dialogue.say('RCPT TO:<bob@direct.example.org> NOTIFY=NEVER', /^555/);
  await dialogue.say('RCPT TO:<@relay.example:bob@direct.example.org>', /^250/);
  await dialogue.say('RSET', /^250/);
  await dialogue.say('DATA', /^503/);
  await dialogue.say('VRFY bob', /^252/);
  await dialogue.say('NOOP', /^250/);
  await dialogue.say('QUIT', /^221/);
  assert.deepEqual(messages, []);
});

const unended = ['DATA\r', 'DATA\f\r', 'DATA\xff\r', 'DATA\r\r', 'DATA', 'QUIT\rDATA\r'] as const;

test('ETT 10: a command whose line ends in anything but CRLF is refused, and the session ends in time', async (t) => {
  const pem = makeTlsCertificate('mx.example.org');
  const tls = { key: pem, cert: pem };
  const { port, messages } = await start(t, { tls, limits: { maxLineMs: 100 } });
  for (const isSecure of [false, true])
    for (const line of unended) {
      let dialogue = await Dialogue.open(port);
      await dialogue.say('EHLO client.example.net', /^250/);
      if (isSecure) {
        await dialogue.say('STARTTLS', /^220/);
        dialogue.socket.removeAllListeners('data');
        dialogue = new Dialogue(
          connectTls({ socket: dialogue.socket, ca: pem, servername: 'mx.example.org' }),
        );
        await dialogue.say('EHLO client.example.net', /^250/);
      }
      await dialogue.say('MAIL FROM:<a@example.net>', /^250/);
      await dialogue.say('RCPT TO:<bob@direct.example.org>', /^250/);
      await dialogue.say(Buffer.from(line, 'latin1'), /^500 5\.5\.2 /);
      assert.equal(await dialogue.reply(), '');
    }
  // An octet now and then is no line that ends either.
  const dialogue = await Dialogue.open(port);
  const drip = setInterval(() => dialogue.socket.write('N'), 20);
  assert.match(await dialogue.reply(), /^500 5\.5\.2 /);
  clearInterval(drip);
  assert.deepEqual(messages, []);
});

test('ETT 10: control characters within a command are refused; a message and a decision take their time', async (t) => {
  const maxLineMs = 1_000;
  const pause = () => sleep(maxLineMs * 1.2);
  const { port, messages } = await start(t, {
    limits: { maxLineMs },
    handlers: {
      onRecipient: async (address) => {
        if (address.startsWith('slow')) await pause();
        return 'accept';
      },
    },
  });
  const slow = await Dialogue.open(port);
  await slow.say('EHLO client.example.net', /^250/);
  await slow.say('MAIL FROM:<a@example.net>', /^250/);
  slow.socket.write('RCPT TO:<slow@direct.example.org>\r\nDA');
  assert.match(await slow.reply(), /^250/);
  await slow.say('TA', /^354/);
  slow.socket.destroy();
  const dialogue = await Dialogue.open(port);
  await dialogue.say('EHLO client.example.net', /^250/);
  for (const line of ['NOOP\rDATA', 'NOOP\f', 'NOOP \0', 'VRFY a\tb'])
    await dialogue.say(line, /^500 5\.5\.2 /);
  dialogue.socket.write('MAIL FROM:<a@exam');
  await dialogue.say('ple.net>', /^250/);
  await dialogue.say('RCPT TO:<bob@direct.example.org>', /^250/);
  await dialogue.say('DATA', /^354/);
  dialogue.socket.write('Subject: in pie');
  await pause();
  await dialogue.say('ces\r\n.', /^250/);
  assert.equal(messages.length, 1);
});

test('EDGE-09: no relaying; the handler decides about each recipient and sees the envelope', async (t) => {
  const seen: unknown[] = [];
  const { port, messages } = await start(t, {
    handlers: {
      onRecipient: async (address, context) => {
        seen.push([address, context.mailFrom]);
        if (address.startsWith('boom')) throw new Error('database');
        return address.endsWith('@direct.example.org')
          ? 'accept'
          : { code: 550, enhancedCode: '5.7.1', text: 'Relaying denied' };
      },
    },
  });
  const dialogue = await Dialogue.open(port);
  await dialogue.say('EHLO client.example.net', /^250/);
  await dialogue.say('MAIL FROM:<a@example.net>', /^250/);
  await dialogue.say('RCPT TO:<x@elsewhere.org>', /^550 5\.7\.1 Relaying denied/);
  await dialogue.say('RCPT TO:<boom@direct.example.org>', /^451 4\.3\.0/);
  await dialogue.say('RCPT TO:<x@xn--bcher-kva.example>', /^550/);
  await dialogue.say('DATA', /^503/);
  await dialogue.say('RCPT TO:<Bob@direct.example.org>', /^250/);
  await dialogue.say('DATA', /^354/);
  await dialogue.say('x\r\n.', /^250 2\.0\.0/);
  assert.deepEqual(seen.slice(0, 3), [
    ['x@elsewhere.org', 'a@example.net'],
    ['boom@direct.example.org', 'a@example.net'],
    ['x@xn--bcher-kva.example', 'a@example.net'],
  ]);
  assert.deepEqual(messages[0]?.recipients, ['Bob@direct.example.org']);
});

test('AS-01: quoted local parts are taken as they are, blanks and at-signs in them included', async (t) => {
  const { port, messages } = await start(t);
  const dialogue = await Dialogue.open(port);
  await dialogue.say('EHLO client.example.net', /^250/);
  await dialogue.say('MAIL FROM:<"Ann Lee"@peer.example> SIZE=100 BODY=8BITMIME', /^250/);
  for (const local of ['"b c"', '"at@home"', '".dots..."', '"with \\" quote"'])
    await dialogue.say(`RCPT TO:<${local}@direct.example.org>`, /^250/);
  await dialogue.say('RCPT TO:<"b c"@elsewhere.org>', /^550/);
  for (const bad of ['<"b>@direct.example.org>', '<"b"@x..example.org>', '<"b>"@direct.example.org>'])
    await dialogue.say(`RCPT TO:${bad}`, /^501/);
  await dialogue.say(`RCPT TO:<"${' '.repeat(300)}"@direct.example.org>`, /^501/);
  await dialogue.say('RCPT TO:<"b c"@direct.example.org> FOO=1', /^555/);
  await dialogue.say('DATA', /^354/);
  await dialogue.say('x\r\n.', /^250 2\.0\.0/);
  assert.equal(messages[0]?.mailFrom, '"Ann Lee"@peer.example');
  assert.deepEqual(messages[0]?.recipients, [
    '"b c"@direct.example.org',
    '"at@home"@direct.example.org',
    '".dots..."@direct.example.org',
    '"with \\" quote"@direct.example.org',
  ]);
});

test('the 250 is sent only after the message was accepted, and a failure to accept it is transient', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  let isTaken = false;
  const slow = await start(t, {
    handlers: {
      onMessage: async () => {
        entered.resolve();
        await promise;
        isTaken = true;
      },
    },
  });
  const dialogue = await Dialogue.open(slow.port);
  await dialogue.greetAndAddress();
  dialogue.socket.write('x\r\n.\r\n');
  const reply = dialogue.reply().then((text) => [text.slice(0, 3), isTaken]);
  await entered.promise;
  // A reply that is given too early is there before another session has had three.
  const witness = await Dialogue.open(slow.port);
  await witness.greetAndAddress();
  resolve();
  assert.deepEqual(await reply, ['250', true]);

  const failing = await start(t, { handlers: { onMessage: () => Promise.reject(new Error('disk full')) } });
  const other = await Dialogue.open(failing.port);
  await other.greetAndAddress();
  await other.say('x\r\n.', /^451 4\.3\.0/);
  assert.equal(failing.errors.length, 1);
  const refusing = await start(t, {
    handlers: { onMessage: async () => ({ code: 554, enhancedCode: '5.6.0', text: 'Not S/MIME' }) },
  });
  const third = await Dialogue.open(refusing.port);
  await third.greetAndAddress();
  await third.say('x\r\n.', /^554 5\.6\.0 Not S\/MIME/);
});

test('the octets of the message arrive as they were sent, dots unstuffed', async (t) => {
  const { port, messages } = await start(t);
  const dialogue = await Dialogue.open(port);
  const payload = Buffer.from(
    `a: b\r\n\r\n.\r\n..x\r\n\0\x80\xff\r\n${'y'.repeat(5_000)}\r\nbare\nlf and\rcr\r\n \r\n`,
    'latin1',
  );
  const stuffed = payload.toString('latin1').replaceAll('\r\n.', '\r\n..');
  for (const pieceSize of [1_000_000, 7, 1]) {
    await dialogue.greetAndAddress();
    const wire = Buffer.from(`${stuffed}.\r\n`, 'latin1');
    for (let at = 0; at < wire.length; at += pieceSize)
      dialogue.socket.write(wire.subarray(at, at + pieceSize));
    assert.match(await dialogue.reply(), /^250/);
    assert.deepEqual(Buffer.from(messages.at(-1)?.message ?? []), payload);
  }
});

test('SMTP smuggling: only CR LF dot CR LF ends the message', async (t) => {
  const { port, messages } = await start(t);
  for (const end of ['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r', '\r.\r\n', '\r\n.\r', '\n.\r']) {
    const dialogue = await Dialogue.open(port);
    await dialogue.greetAndAddress();
    const smuggled = 'MAIL FROM:<evil@example.net>\r\nRCPT TO:<bob@direct.example.org>\r\nDATA\r\nforged\r\n';
    const count = messages.length;
    await dialogue.say(Buffer.from(`x${end}${smuggled}.\r\n`), /^250/);
    assert.equal(messages.length, count + 1, JSON.stringify(end));
    assert.match(Buffer.from(messages.at(-1)?.message ?? []).toString(), /forged/);
    dialogue.socket.destroy();
  }
});

test('SEC-11: oversized messages are refused, announced or not, and the session continues', async (t) => {
  const { port, messages } = await start(t, { limits: { maxMessageBytes: 10_000 } });
  const dialogue = await Dialogue.open(port);
  await dialogue.say('EHLO client.example.net', /^250/);
  await dialogue.say('MAIL FROM:<a@example.net> SIZE=10001', /^552 5\.3\.4/);
  await dialogue.greetAndAddress();
  await dialogue.say(Buffer.from(`${'x'.repeat(70)}\r\n`.repeat(5_000) + '.\r\n'), /^552 5\.3\.4/);
  await dialogue.greetAndAddress();
  await dialogue.say('small\r\n.', /^250/);
  assert.equal(messages.length, 1);
});

test('SEC-11: memory for messages under way is bounded over all sessions, and refused before they are read', async (t) => {
  const { port, messages } = await start(t, { limits: { maxBytesInFlight: 100_000 } });
  const first = await Dialogue.open(port);
  await first.say('EHLO client.example.net', /^250/);
  await first.say('MAIL FROM:<a@example.net> SIZE=60000', /^250/);
  const second = await Dialogue.open(port);
  await second.say('EHLO client.example.net', /^250/);
  // Only DATA takes memory: both may offer what fits only once.
  await second.say('MAIL FROM:<a@example.net> SIZE=60000', /^250/);
  for (const dialogue of [first, second]) await dialogue.say('RCPT TO:<bob@direct.example.org>', /^250/);
  await first.say('DATA', /^354/);
  await second.say('DATA', /^452 4\.3\.1/);
  await second.say('RSET', /^250/);
  await second.say('MAIL FROM:<a@example.net> SIZE=60000', /^452 4\.3\.1/);
  await second.say('MAIL FROM:<a@example.net> SIZE=30000', /^250/);
  await second.say('RCPT TO:<bob@direct.example.org>', /^250/);
  await second.say('DATA', /^354/);
  // More than was announced, and more than is left.
  await second.say(Buffer.from(`${'y'.repeat(70)}\r\n`.repeat(1_000) + '.\r\n'), /^452 4\.3\.1/);
  assert.equal(messages.length, 0);
  first.socket.destroy();
  // That the other session has ended reaches the server in its own time.
  for (let tries = 0; messages.length === 0 && tries < 100; tries++) {
    await second.say('EHLO client.example.net', /^250/);
    second.socket.write('MAIL FROM:<a@example.net> SIZE=60000\r\n');
    if (!(await second.reply()).startsWith('250')) await new Promise((wait) => setTimeout(wait, 20));
    else {
      await second.say('RCPT TO:<bob@direct.example.org>', /^250/);
      await second.say('DATA', /^354/);
      await second.say('small\r\n.', /^250/);
    }
  }
  assert.equal(messages.length, 1);
});

test('SEC-11: a message that arrives too slowly ends its session, and its memory is released', async (t) => {
  const budget = createBudget({ total: 1_000_000 });
  const { port, messages } = await start(t, {
    budget,
    limits: { minBytesPerSecond: 1_000, rateWindowMs: 300 },
  });
  const slow = await Dialogue.open(port);
  await slow.greetAndAddress();
  assert.ok(budget.used > 0);
  const dripping = setInterval(() => slow.socket.write('x'), 20);
  assert.match(await slow.reply(), /^421 4\.4\.2/);
  clearInterval(dripping);
  assert.equal(await slow.reply(), '');
  for (let tries = 0; budget.used > 0 && tries < 500; tries++)
    await new Promise((wait) => setTimeout(wait, 20));
  assert.deepEqual([budget.used, messages.length], [0, 0]);
});

test('SEC-11: a session of commands that lead to no message is ended, one with messages continues', async (t) => {
  const { port, messages } = await start(t, { limits: { maxUselessCommands: 5 } });
  const useful = await Dialogue.open(port);
  for (let n = 0; n < 4; n++) {
    for (let m = 0; m < 4; m++) await useful.say(m % 2 === 0 ? 'NOOP' : 'RSET', /^250/);
    await useful.greetAndAddress();
    await useful.say('x\r\n.', /^250/);
  }
  assert.equal(messages.length, 4);
  for (const commands of [
    ['NOOP'],
    ['EHLO again'],
    ['RSET', 'VRFY bob'],
    ['DATA'],
    ['MAIL FROM:<a b@c.org>', 'noop'],
  ]) {
    const dialogue = await Dialogue.open(port);
    await dialogue.say('EHLO client.example.net', /^250/);
    for (let n = 0; n < 5; n++) await dialogue.say(commands[n % commands.length] ?? '', /^(?!421)/);
    await dialogue.say('NOOP', /^421 4\.7\.0/);
    assert.equal(await dialogue.reply(), '');
  }
});

test('SEC-11: 100 idle connections from two addresses do not keep a third peer out', async (t) => {
  const { port, messages } = await start(t, {
    limits: {
      maxConnections: 60,
      maxConnectionsPerPeer: 30,
      maxConnectionsPerNetwork: 100,
      evictIdleMs: 0,
    },
  });
  const replies = await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      const dialogue = new Dialogue(
        connect({ host: '127.0.0.1', port, localAddress: n % 2 === 0 ? '127.0.0.2' : '127.0.0.3' }),
      );
      return { dialogue, greeting: await dialogue.reply() };
    }),
  );
  const idle = replies.filter(({ greeting }) => greeting.startsWith('220'));
  assert.equal(idle.length, 60);
  for (const { greeting } of replies.filter((one) => !idle.includes(one)))
    assert.match(greeting, /^421 4\.7\.0 Too many connections from 127\.0\.0\.[23]\r/);
  const honest = await Dialogue.open(port);
  await honest.greetAndAddress();
  await honest.say('x\r\n.', /^250/);
  assert.equal(messages.length, 1);
  const ended = await Promise.race(idle.map(({ dialogue }) => dialogue.reply()));
  assert.match(ended, /^421 4\.3\.2/);
  for (const { dialogue } of replies) dialogue.socket.destroy();
});

test('SEC-11: the reply names whether the address or the network has too many connections', async (t) => {
  const { port } = await start(t, { limits: { maxConnectionsPerPeer: 2, maxConnectionsPerNetwork: 3 } });
  const open = async (localAddress: string) => {
    const dialogue = new Dialogue(connect({ host: '127.0.0.1', port, localAddress }));
    t.after(() => dialogue.socket.destroy());
    return dialogue.reply();
  };
  for (const address of ['127.0.0.1', '127.0.0.1', '127.0.0.2']) assert.match(await open(address), /^220/);
  assert.match(await open('127.0.0.1'), /^421 4\.7\.0 Too many connections from 127\.0\.0\.1\r/);
  assert.match(await open('127.0.0.9'), /^421 4\.7\.0 Too many connections from 127\.0\.0\.0\/24\r/);
  assert.match(await open('127.1.0.1'), /^220/);
});

test('a message is refused before it is read when the handler does not want it now, and by its header', async (t) => {
  let isWanted = false;
  const offers: unknown[] = [];
  const headers: string[] = [];
  const budget = createBudget({ total: 10_000_000 });
  const { port, messages } = await start(t, {
    budget,
    handlers: {
      onOffer: ({ sizeBytes, mailFrom }) => {
        offers.push([mailFrom, sizeBytes]);
        return isWanted ? undefined : { code: 452, enhancedCode: '4.3.1', text: 'Low on disk' };
      },
      onHeader: ({ header, recipients }) => {
        headers.push(Buffer.from(header).toString());
        assert.deepEqual(recipients, ['bob@direct.example.org']);
        return headers.at(-1)?.includes('pkcs7') === true
          ? undefined
          : { code: 554, enhancedCode: '5.6.1', text: 'Encrypted mail only' };
      },
    },
  });
  const dialogue = await Dialogue.open(port);
  await dialogue.say('EHLO client.example.net', /^250/);
  await dialogue.say('MAIL FROM:<a@example.net> SIZE=100', /^452 4\.3\.1 Low on disk/);
  isWanted = true;
  await dialogue.say('MAIL FROM:<a@example.net>', /^250/);
  await dialogue.say('RCPT TO:<bob@direct.example.org>', /^250/);
  isWanted = false;
  await dialogue.say('DATA', /^452 4\.3\.1 Low on disk/);
  isWanted = true;
  await dialogue.say('DATA', /^354/);
  const plain = `Content-Type: text/plain\r\n\r\n${`${'x'.repeat(78)}\r\n`.repeat(20_000)}.\r\n`;
  await dialogue.say(Buffer.from(plain), /^554 5\.6\.1 Encrypted mail only/);
  await dialogue.greetAndAddress();
  await dialogue.say('Content-Type: application/pkcs7-mime\r\n\r\nx\r\n.', /^250/);
  assert.deepEqual(headers, [
    'Content-Type: text/plain\r\n\r\n',
    'Content-Type: application/pkcs7-mime\r\n\r\n',
  ]);
  assert.deepEqual(offers[0], ['a@example.net', 100]);
  assert.deepEqual([messages.length, budget.used], [1, 0]);
});

test('SEC-11, ETT 13: recipients, command length, nonsense, connections and idle time are limited', async (t) => {
  const limits = { maxRecipients: 3, maxConnectionsPerPeer: 2, idleMs: 1_500 };
  const { port } = await start(t, { limits });
  const dialogue = await Dialogue.open(port);
  await dialogue.say('EHLO client.example.net', /^250/);
  await dialogue.say('MAIL FROM:<a@example.net>', /^250/);
  for (let n = 0; n < 3; n++) await dialogue.say(`RCPT TO:<u${n}@direct.example.org>`, /^250/);
  await dialogue.say('RCPT TO:<u3@direct.example.org>', /^452 4\.5\.3/);

  const second = await Dialogue.open(port);
  const third = new Dialogue(connect({ host: '127.0.0.1', port }));
  assert.match(await third.reply(), /^421 4\.7\.0/);
  assert.equal(await third.reply(), '');

  await second.say(`NOOP ${'x'.repeat(5_000)}`, /^421/);
  assert.equal(await second.reply(), '');
  // RFC 5321 §4.5.3.2.7, with a shorter time.
  assert.match(await dialogue.reply(), /^421 4\.4\.2/);

  const rude = await Dialogue.open(port);
  for (let n = 0; n < 9; n++) await rude.say('FOO', /^500/);
  await rude.say('FOO', /^421/);
});

test('EDGE-08: a hundred recipients and a line of a thousand octets are accepted', async (t) => {
  const { port, messages } = await start(t);
  const dialogue = await Dialogue.open(port);
  const commands = [
    'EHLO c.example.net',
    'MAIL FROM:<a@example.net>',
    ...Array.from({ length: 100 }, (_, n) => `RCPT TO:<u${n}@direct.example.org>`),
    'DATA',
  ];
  dialogue.socket.write(commands.map((command) => `${command}\r\n`).join(''));
  for (let n = 0; n < 102; n++) assert.match(await dialogue.reply(), /^250/);
  assert.match(await dialogue.reply(), /^354/);
  await dialogue.say(`${'z'.repeat(998)}\r\n.`, /^250/);
  assert.deepEqual([messages[0]?.recipients.length, messages[0]?.message.length], [100, 1_000]);
});

test('RFC 5321 §4.5.3.1.10: recipients above the limit are refused one by one, and the others get the message', async (t) => {
  const { port, messages } = await start(t, { limits: { maxRecipients: 3, maxUselessCommands: 5 } });
  const dialogue = await Dialogue.open(port);
  await dialogue.say('EHLO client.example.net', /^250/);
  for (let turn = 0; turn < 2; turn++) {
    await dialogue.say('MAIL FROM:<a@example.net>', /^250/);
    for (let n = 0; n < 3; n++) await dialogue.say(`RCPT TO:<u${n}@direct.example.org>`, /^250/);
    for (let n = 3; n < 20; n++) await dialogue.say(`RCPT TO:<u${n}@direct.example.org>`, /^452 4\.5\.3/);
    await dialogue.say('DATA', /^354/);
    await dialogue.say('x\r\n.', /^250/);
  }
  assert.deepEqual(
    messages.map(({ recipients }) => recipients.length),
    [3, 3],
  );
  await dialogue.say('MAIL FROM:<a@example.net>', /^250/);
  for (let n = 0; n < 1_005; n++) await dialogue.say('RCPT TO:<u@other.example>', /^550/);
  await dialogue.say('RCPT TO:<u@other.example>', /^550/);
  await dialogue.say('RCPT TO:<u@other.example>', /^421 4\.7\.0/);
});

test('SEC-11: sessions of nonsense end by themselves and leave the server working', async (t) => {
  const { port } = await start(t, { limits: { idleMs: 500 } });
  const words = [
    'EHLO a',
    'MAIL FROM:<',
    'a@b.org>',
    'RCPT TO:<bob@direct.example.org>',
    'DATA',
    'RSET',
    ' SIZE=99999999999999999999',
    'BDAT 10 LAST',
    '.',
    '\r\n',
    '\n',
    '\r',
    '\0',
    '\xff\xfe',
    'STARTTLS',
    'XCLIENT ADDR=1.2.3.4',
    'HELP',
    'x'.repeat(3_000),
    '<@a,@b:c@d.org>',
    'EXPN',
    'GET / HTTP/1.1',
  ];
  const session = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...words) },
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constant('\r\n'),
    ),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(session, async (parts) => {
      const socket = connect({ host: '127.0.0.1', port });
      socket.on('error', () => {});
      socket.resume();
      socket.end(Buffer.from(`EHLO x\r\n${parts.join('')}`, 'latin1'));
      await new Promise((resolve) => socket.once('close', resolve));
    }),
    { numRuns: 150 },
  );
  const dialogue = await Dialogue.open(port);
  await dialogue.greetAndAddress();
  await dialogue.say('x\r\n.', /^250/);
});

test('an aborted message is not accepted', async (t) => {
  const { port, messages } = await start(t);
  const dialogue = await Dialogue.open(port);
  await dialogue.greetAndAddress();
  dialogue.socket.end('half a message\r\n');
  await new Promise((resolve) => dialogue.socket.once('close', resolve));
  assert.deepEqual(messages, []);
});

test('closing lets a message under way finish and sends everybody else off', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const server = await createSmtpServer({
    host: '127.0.0.1',
    port: 0,
    hostname: 'mx.example.org',
    handlers: {
      onRecipient: async () => 'accept',
      onMessage: () => {
        entered.resolve();
        return promise;
      },
    },
  });
  t.after(() => server.close());
  const busy = await Dialogue.open(server.port);
  await busy.greetAndAddress();
  busy.socket.write('x\r\n.\r\n');
  const idle = await Dialogue.open(server.port);
  await entered.promise;
  const closed = server.close();
  assert.match(await idle.reply(), /^421 4\.3\.2/);
  resolve();
  assert.match(await busy.reply(), /^250/);
  busy.socket.destroy();
  await closed;
});

test('EDGE-03, ETT 2, 16, RFC 3207: STARTTLS with our key; commands sent before the handshake are dropped', async (t) => {
  const pem = makeTlsCertificate('mx.example.org');
  const { port, messages } = await start(t, { tls: { key: pem, cert: pem } });
  const dialogue = await Dialogue.open(port);
  await dialogue.say('EHLO client.example.net', /^250-[^]*STARTTLS/);
  dialogue.socket.write('STARTTLS\r\nMAIL FROM:<injected@example.net>\r\n');
  assert.match(await dialogue.reply(), /^220/);
  dialogue.socket.removeAllListeners('data');
  const secure = new Dialogue(connectTls({ socket: dialogue.socket, ca: pem, servername: 'mx.example.org' }));
  await secure.say('RCPT TO:<bob@direct.example.org>', /^503/);
  await secure.greetAndAddress();
  await secure.say('x\r\n.', /^250/);
  assert.deepEqual([messages[0]?.mailFrom, messages[0]?.isSecure], ['a@example.net', true]);
});

test('a session that was encrypted by STARTTLS gives its place back when it ends', async (t) => {
  const pem = makeTlsCertificate('mx.example.org');
  const { port } = await start(t, {
    tls: { key: pem, cert: pem },
    limits: { maxConnectionsPerPeer: 2 },
  });
  for (let session = 0; session < 6; session++) {
    const dialogue = await Dialogue.open(port);
    await dialogue.say('EHLO client.example.net', /^250-[^]*STARTTLS/);
    await dialogue.say('STARTTLS', /^220/);
    dialogue.socket.removeAllListeners('data');
    const secure = new Dialogue(
      connectTls({ socket: dialogue.socket, ca: pem, servername: 'mx.example.org' }),
    );
    await secure.say('EHLO client.example.net', /^250/);
    await secure.say('QUIT', /^221/);
    assert.equal(await secure.reply(), '');
  }
});

test('a TLS handshake that is not finished after STARTTLS ends the session in time', async (t) => {
  const pem = makeTlsCertificate('mx.example.org');
  const { port } = await start(t, { tls: { key: pem, cert: pem }, limits: { maxHandshakeMs: 200 } });
  const beganMs = performance.now();
  // Nothing, and the first half of a ClientHello.
  for (const hello of [Buffer.of(), Buffer.of(0x16, 0x03, 0x01, 0x02, 0x00, 0x01)]) {
    const dialogue = await Dialogue.open(port);
    await dialogue.say('EHLO client.example.net', /^250-[^]*STARTTLS/);
    await dialogue.say('STARTTLS', /^220/);
    dialogue.socket.write(hello);
    assert.equal(await dialogue.reply(), '');
  }
  assert.ok(performance.now() - beganMs < serverIdleMs / 2);
});

test('a TLS handshake that fails ends its session, and is reported once', async (t) => {
  const pem = makeTlsCertificate('mx.example.org');
  const { port, errors } = await start(t, { tls: { key: pem, cert: pem } });
  const dialogue = await Dialogue.open(port);
  await dialogue.say('EHLO client.example.net', /^250-[^]*STARTTLS/);
  await dialogue.say('STARTTLS', /^220/);
  await dialogue.say('EHLO client.example.net', /^$/);
  await (await Dialogue.open(port)).say('NOOP', /^250/);
  assert.deepEqual(
    errors.map((error) => (error as NodeJS.ErrnoException).code),
    ['ERR_SSL_WRONG_VERSION_NUMBER'],
  );
});
