import assert from 'node:assert/strict';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import tls from 'node:tls';
import { fc } from '../../../test/support/fast-check.ts';
import { waitUntil } from '../../../test/support/processes.ts';
import { timeScale } from '../../../test/support/time-scale.ts';
import { makeTlsCertificate } from '../../../test/support/tls-certificate.ts';
import { createSmtpClient, sendMail, type SmtpClientOptions } from './client.ts';
import { SmtpError } from './errors.ts';
import type { SmtpReply } from './reply.ts';
import type { SmtpMessage } from './handlers.ts';
import { createSmtpServer } from './server.ts';
import type { SmtpServerOptions } from './server-options.ts';

const envelope = { host: '127.0.0.1', mailFrom: 'a@example.net', recipients: ['bob@direct.example.org'] };
const options = { hostname: 'out.example.net', timeoutMs: 3_000 };
const message = Buffer.from('Subject: x\r\n\r\nhello\r\n');

const refused: SmtpReply = { code: 554, enhancedCode: '5.7.1', text: 'Refused' };

async function startOwn(t: TestContext, more: Partial<SmtpServerOptions> = {}) {
  const messages: SmtpMessage[] = [];
  const server = await createSmtpServer({
    host: '127.0.0.1',
    port: 0,
    hostname: 'mx.example.org',
    handlers: {
      onRecipient: async (address) => {
        if (address.startsWith('no')) return { code: 550, enhancedCode: '5.1.1', text: 'No such mailbox' };
        if (address.startsWith('later')) return { code: 450, enhancedCode: '4.2.1', text: 'Busy' };
        return 'accept';
      },
      onMessage: async (one): Promise<SmtpReply | undefined> => {
        messages.push(one);
        return Buffer.from(one.message).includes('REFUSE') ? refused : undefined;
      },
    },
    ...more,
  });
  t.after(() => server.close());
  return { port: server.port, messages };
}

/**
 * A server that says what the test wants: a reply for each command line, `undefined` to hang up, '' to keep
 * silent.
 */
async function startScripted(
  t: TestContext,
  greeting: string,
  reply: (line: string, socket: Socket) => string | undefined,
  onConnection: (socket: Socket) => void = () => {},
) {
  const lines: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => {});
    socket.write(greeting);
    onConnection(socket);
    let rest = '';
    socket.on('data', (chunk: Buffer) => {
      const parts = (rest + chunk.toString('latin1')).split('\r\n');
      rest = parts.pop() ?? '';
      for (const line of parts) {
        lines.push(line);
        const text = reply(line, socket);
        if (text === undefined) return void socket.destroy();
        if (text !== '') socket.write(`${text}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, lines, connections: () => connections };
}

function clientFor(t: TestContext, more: Partial<SmtpClientOptions> = {}) {
  const client = createSmtpClient({ ...options, ...more });
  t.after(() => client.close());
  return client;
}

test('EDGE-07: each recipient has its own outcome, transient or permanent', async (t) => {
  const { port, messages } = await startOwn(t);
  const recipients = ['bob@d.org', 'no@d.org', 'later@d.org', 'Eve@d.org'];
  const { reply, ...outcome } = await sendMail({ ...envelope, ...options, port, recipients, message });
  assert.match(reply ?? '', /^250 /);
  assert.deepEqual(outcome, {
    accepted: ['bob@d.org', 'Eve@d.org'],
    rejected: [
      { address: 'no@d.org', code: 550, enhancedCode: '5.1.1', text: 'No such mailbox', isTransient: false },
      { address: 'later@d.org', code: 450, enhancedCode: '4.2.1', text: 'Busy', isTransient: true },
    ],
  });
  assert.deepEqual(messages[0]?.recipients, ['bob@d.org', 'Eve@d.org']);
});

test('EDGE-07: a message that is refused, too large, or has no recipient left counts for all of them', async (t) => {
  const { port } = await startOwn(t, { limits: { maxMessageBytes: 1_000 } });
  const send = (recipients: string[], body: string) =>
    sendMail({ ...envelope, ...options, port, recipients, message: Buffer.from(body) });
  const codes = async (recipients: string[], body: string) =>
    (await send(recipients, body)).rejected.map(({ address, code, enhancedCode }) => [
      address,
      code,
      enhancedCode,
    ]);
  assert.deepEqual(await codes(['a@d.org', 'no@d.org'], 'REFUSE'), [
    ['no@d.org', 550, '5.1.1'],
    ['a@d.org', 554, '5.7.1'],
  ]);
  assert.deepEqual(await codes(['a@d.org'], 'x'.repeat(2_000)), [['a@d.org', 552, '5.3.4']]);
  assert.deepEqual(await codes(['no@d.org'], 'x'), [['no@d.org', 550, '5.1.1']]);
});

test('byte-exact: any octets arrive as RFC 5321 can carry them', async (t) => {
  const { port, messages } = await startOwn(t);
  const client = clientFor(t);
  const line = fc
    .uint8Array({ maxLength: 300 })
    .map((bytes) => Buffer.from(bytes.map((octet) => (octet === 13 || octet === 10 ? 46 : octet))));
  const dotted = fc
    .tuple(fc.constantFrom('', '.', '..', '.\0'), line)
    .map(([start, rest]) => Buffer.concat([Buffer.from(start), rest]));
  await fc.assert(
    fc.asyncProperty(fc.array(dotted, { minLength: 1, maxLength: 20 }), async (lines) => {
      const payload = Buffer.concat(lines.flatMap((one) => [one, Buffer.from('\r\n')]));
      await client.send({ ...envelope, port, message: payload });
      assert.deepEqual(Buffer.from(messages.pop()?.message ?? []), payload);
    }),
    { numRuns: 100 },
  );
});

test('bare CR and LF become CRLF, and a missing last line end is added; nothing else changes', async (t) => {
  const { port, messages } = await startOwn(t);
  for (const [sent, received] of [
    ['a\nb\n', 'a\r\nb\r\n'],
    ['a\rb', 'a\r\nb\r\n'],
    ['a\r\n\r\n', 'a\r\n\r\n'],
    ['x\n.\r\ny', 'x\r\n.\r\ny\r\n'],
    ['', '\r\n'],
  ]) {
    await sendMail({ ...envelope, ...options, port, message: Buffer.from(sent ?? '') });
    assert.equal(Buffer.from(messages.pop()?.message ?? []).toString(), received);
  }
});

test('25 MB go through, in pieces that let other work in between', async (t) => {
  const { port, messages } = await startOwn(t);
  const large = Buffer.alloc(25_000_000, `${'abcdefg'.repeat(10)}\r\n`);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const outcome = await sendMail({ ...envelope, ...options, port, message: large });
  clearInterval(timer);
  assert.equal(outcome.accepted.length, 1);
  assert.ok(ticks > 5, `${ticks} turns of the event loop`);
  assert.equal(
    Buffer.compare(messages[0]?.message ?? Buffer.alloc(0), Buffer.concat([large, Buffer.from('\r\n')])),
    0,
  );
});

test('RFC 2920: a reply to the sender applies to all pipelined recipients', async (t) => {
  const client = clientFor(t);
  for (const [reply, isTransient] of [
    ['452 4.3.1 later', true],
    ['550 5.7.1 never', false],
  ] as const) {
    const accept = (line: string): string => {
      if (line.startsWith('EHLO')) return '250-x\r\n250 PIPELINING';
      if (line.startsWith('MAIL')) return reply;
      return line === 'QUIT' ? '221 bye' : '503 5.5.1 need MAIL';
    };
    const server = await startScripted(t, '220 x ESMTP\r\n', accept);
    const outcome = await client.send({ ...envelope, port: server.port, message });
    assert.deepEqual(
      outcome.rejected.map((one) => [one.code, one.isTransient]),
      envelope.recipients.map(() => [Number(reply.slice(0, 3)), isTransient]),
    );
  }
});

test('connections are used again, and a server that hung up meanwhile is connected to again', async (t) => {
  const accept = (line: string, socket: Socket): string | undefined => {
    if (/^(EHLO|MAIL|RCPT)/.test(line)) return '250 ok';
    if (line === 'DATA') return '354 go';
    if (line !== '.') return '';
    if (count++ === 1) {
      // RFC 5321 §4.1.1.4: the reply first, then the end.
      socket.once('close', hungUp.resolve);
      socket.end('250 2.0.0 ok\r\n');
      return '';
    }
    return '250 2.0.0 ok';
  };
  const hungUp = Promise.withResolvers<void>();
  let count = 0;
  const server = await startScripted(t, '220 x ESMTP\r\n', accept);
  const client = clientFor(t);
  for (let n = 0; n < 2; n++)
    assert.equal((await client.send({ ...envelope, port: server.port, message })).accepted.length, 1);
  assert.equal(server.connections(), 1);
  await hungUp.promise;
  assert.equal((await client.send({ ...envelope, port: server.port, message })).accepted.length, 1);
  assert.equal(server.connections(), 2);
});

for (const { title, atATime, messages, perSession, sessions } of [
  {
    title: 'takes one that others have used, of a server that serves two connections at a time',
    atATime: 2,
    messages: 5,
    perSession: Infinity,
    sessions: 2,
  },
  {
    title: 'needs a new one if the server hangs up on the one that others have used',
    atATime: 1,
    messages: 2,
    perSession: 1,
    sessions: 2,
  },
])
  test(`a message that waits for a session ${title}`, async (t) => {
    const taken = new Map<Socket, number>();
    const waiting: Socket[] = [];
    let served = 0;
    const serveNext = (): void => {
      if (served === atATime) return;
      const next = waiting.shift();
      if (next === undefined) return;
      served++;
      next.write('220 x ESMTP\r\n');
    };
    const reply = (line: string, socket: Socket): string | undefined => {
      const count = taken.get(socket) ?? 0;
      if (line === 'QUIT' || (line.startsWith('MAIL') && count === perSession)) return undefined;
      if (line === 'DATA') return '354 go';
      if (line === '.') taken.set(socket, count + 1);
      return /^(EHLO|MAIL|RCPT|\.$)/.test(line) ? '250 ok' : '';
    };
    const server = await startScripted(t, '', reply, (socket) => {
      waiting.push(socket);
      socket.once('close', () => {
        const at = waiting.indexOf(socket);
        if (at < 0) served--;
        else waiting.splice(at, 1);
        serveNext();
      });
      serveNext();
    });
    const client = clientFor(t, { timeoutMs: 6_000 });
    const send = () =>
      client.send({
        ...envelope,
        port: server.port,
        message,
      });
    const outcomes = await Promise.all(Array.from({ length: messages }, send));
    assert.ok(outcomes.every(({ accepted }) => accepted.length === 1));
    assert.equal(taken.size, sessions);
    assert.equal(
      [...taken.values()].reduce((sum, count) => sum + count),
      messages,
    );
  });

test('a session turned away: for now, for good, in silence, or with nonsense', async (t) => {
  const cases: readonly (readonly [
    greeting: string,
    reply: string | undefined,
    code: string,
    isTransient: boolean,
  ])[] = [
    ['421 busy\r\n', '', 'SMTP_SESSION_DEFERRED', true],
    ['554 go away\r\n', '', 'SMTP_SESSION_REFUSED', false],
    ['220 x\r\n', '550 no', 'SMTP_SESSION_REFUSED', false],
    ['220 x\r\n', undefined, 'SMTP_UNREACHABLE', true],
    ['', '', 'SMTP_TIMEOUT', true],
    ['HTTP/1.1 400 Bad Request\r\n', '', 'SMTP_PROTOCOL', true],
    [`220-${'x'.repeat(100_000)}\r\n`, '', 'SMTP_PROTOCOL', true],
  ];
  for (const [greeting, reply, code, isTransient] of cases) {
    const { port } = await startScripted(t, greeting, () => reply);
    await assert.rejects(
      sendMail({ ...envelope, ...options, timeoutMs: 500, port, message }),
      { code, isTransient },
      greeting.slice(0, 30),
    );
  }
  await assert.rejects(sendMail({ ...envelope, ...options, port: 1, message }), {
    code: 'SMTP_UNREACHABLE',
    isTransient: true,
    message: /^SMTP server .*:1 refused the connection$/,
  });
});

test('a connection lost in the transaction decides nothing; 421 in it is transient', async (t) => {
  const at = (command: string, reply: string | undefined) => (line: string) => {
    if (line.startsWith(command)) return reply;
    if (line === 'DATA') return '354 go';
    return /^(EHLO|MAIL|RCPT)/.test(line) ? '250 ok' : '';
  };
  for (const command of ['MAIL', 'RCPT', 'DATA', '.']) {
    const lost = await startScripted(t, '220 x\r\n', at(command, undefined));
    await assert.rejects(sendMail({ ...envelope, ...options, port: lost.port, message }), {
      code: 'SMTP_UNREACHABLE',
      isTransient: true,
      message: /closed the connection$/,
    });
    // At RCPT it is the reply for that recipient, transient like the others.
    if (command === 'RCPT') continue;
    const closing = await startScripted(t, '220 x\r\n', at(command, '421 4.3.2 closing'));
    await assert.rejects(sendMail({ ...envelope, ...options, port: closing.port, message }), {
      isTransient: true,
    });
  }
  for (const command of ['MAIL', 'RCPT', 'DATA', '.']) {
    const refusing = await startScripted(t, '220 x\r\n', at(command, '550 5.7.1 no'));
    const outcome = await sendMail({ ...envelope, ...options, port: refusing.port, message });
    assert.deepEqual(
      outcome.rejected,
      [
        {
          address: 'bob@direct.example.org',
          code: 550,
          enhancedCode: '5.7.1',
          text: 'no',
          isTransient: false,
        },
      ],
      command,
    );
  }
});

test('SEC-11: a server that answers in drops is aborted in the end', async (t) => {
  const drip = (socket: Socket): string => {
    const timer = setInterval(() => socket.write('250-x\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
    return '';
  };
  const opening = await startScripted(t, '220 x\r\n', (_, socket) => drip(socket));
  const client = clientFor(t, { totalTimeoutMs: 300 });
  await assert.rejects(client.send({ ...envelope, port: opening.port, message }), { code: 'SMTP_TIMEOUT' });
  const sending = await startScripted(t, '220 x\r\n', (line, socket) =>
    line.startsWith('EHLO') ? '250 ok' : drip(socket),
  );
  await assert.rejects(client.send({ ...envelope, port: sending.port, message }), { code: 'SMTP_TIMEOUT' });
});

/** Takes `pieceBytes` of a message every `everyMs`, the first `quickBytes` of it at once. */
function readingSlowly(
  pieceBytes: number,
  everyMs: number,
  quickBytes = 0,
): (line: string, socket: Socket) => string {
  return (line, socket) => {
    if (line !== 'DATA') return /^(EHLO|MAIL|RCPT)/.test(line) ? '250 ok' : '';
    socket.removeAllListeners('data');
    let tail = '';
    let bytes = 0;
    const take = (): void => {
      const piece = (bytes < quickBytes ? null : socket.read(pieceBytes)) ?? socket.read();
      if (!(piece instanceof Buffer)) return;
      bytes += piece.length;
      tail = (tail + piece.subarray(-5).toString('latin1')).slice(-5);
      if (tail === '\r\n.\r\n') socket.write('250 2.0.0 taken\r\n');
    };
    const timer = setInterval(take, everyMs);
    socket.on('close', () => clearInterval(timer));
    socket.on('readable', () => bytes < quickBytes && take());
    return '354 go';
  };
}

test('a server that would not take a message in time at the rate at which it reads is aborted early', async (t) => {
  const large = Buffer.from(`Subject: x\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(500_000)}`);
  const client = clientFor(t, { timeoutMs: 1_500, totalTimeoutMs: 15_000 });
  const quick = await startScripted(t, '220 x\r\n', readingSlowly(64_000, 1));
  const sent = await client.send({ ...envelope, port: quick.port, message: large });
  assert.deepEqual(sent.accepted, envelope.recipients);
  const slow = await startScripted(t, '220 x\r\n', readingSlowly(64_000, 100));
  const startedAt = performance.now();
  await assert.rejects(
    client.send({ ...envelope, port: slow.port, message: large }),
    (error: { code?: string; fields?: { hasSentAll?: boolean } }) =>
      error.code === 'SMTP_TIMEOUT' && error.fields?.hasSentAll === undefined,
  );
  assert.ok(performance.now() - startedAt < 10_000 * timeScale());
});

test('a server that takes most of a message quickly and the rest slowly gets it, if the time is enough for that', async (t) => {
  const large = Buffer.from(`Subject: x\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(500_000)}`);
  const client = clientFor(t, { timeoutMs: 1_500, totalTimeoutMs: 15_000 });
  // 36 MB: less than a tenth of it within 1.5 s, a tenth of the time.
  const server = await startScripted(t, '220 x\r\n', readingSlowly(64_000, 40, 24_000_000));
  const startedAt = performance.now();
  const sent = await client.send({ ...envelope, port: server.port, message: large });
  assert.deepEqual(sent.accepted, envelope.recipients);
  assert.ok(performance.now() - startedAt > 4_000, 'the rest was taken slowly');
});

test('a server may take longer to accept a message than for any other reply, and is still left in the end', async (t) => {
  const server = (afterMs: number) =>
    startScripted(t, '220 x\r\n', (line, socket) => {
      if (line === 'DATA') return '354 go';
      if (/^(EHLO|MAIL|RCPT)/.test(line)) return '250 ok';
      if (line === '.') setTimeout(() => socket.write('250 2.0.0 taken\r\n'), afterMs);
      return '';
    });
  const timeouts = { ...options, timeoutMs: 300 };
  const slow = await server(1_000);
  const sent = await sendMail({ ...envelope, ...timeouts, port: slow.port, message });
  assert.deepEqual(sent.accepted, envelope.recipients);
  await assert.rejects(
    sendMail({ ...envelope, ...timeouts, messageReplyTimeoutMs: 500, port: slow.port, message }),
    (error: { code?: string; fields?: { hasSentAll?: boolean } }) =>
      error.code === 'SMTP_TIMEOUT' && error.fields?.hasSentAll === true,
  );
  // On a connection that is kept for the next message the usual silence holds again.
  let messages = 0;
  const second = await startScripted(t, '220 x\r\n', (line) => {
    if (line.startsWith('MAIL') && messages > 0) return '';
    if (line === '.') messages++;
    return line === 'DATA' ? '354 go' : /^(EHLO|MAIL|RCPT|\.)/.test(line) ? '250 ok' : '';
  });
  const client = clientFor(t, { timeoutMs: 300 });
  await client.send({ ...envelope, port: second.port, message });
  const startedAt = performance.now();
  await assert.rejects(client.send({ ...envelope, port: second.port, message }), { code: 'SMTP_TIMEOUT' });
  assert.ok(performance.now() - startedAt < 5_000);
});

test('closing ends what waits for a server: the opening of a connection, and the reply to a message', async (t) => {
  const silent = await startScripted(t, '', () => '');
  const taking = await startScripted(t, '220 x\r\n', (line) =>
    line === 'DATA' ? '354 go' : /^(EHLO|MAIL|RCPT)/.test(line) ? '250 ok' : '',
  );
  const client = createSmtpClient({ ...options, timeoutMs: 60_000 });
  const results = Promise.allSettled(
    [silent, taking].map(({ port }) => client.send({ ...envelope, port, message })),
  );
  await waitUntil(() => taking.lines.includes('.'), { what: 'the end of the message' });
  const closedAt = performance.now();
  await client.close();
  const [opening, sending] = (await results).map((one) =>
    one.status === 'rejected' ? one.reason : undefined,
  );
  assert.ok(performance.now() - closedAt < 5_000);
  assert.deepEqual([opening?.code, opening?.fields.hasSentAll], ['SMTP_UNREACHABLE', undefined]);
  assert.deepEqual([sending?.code, sending?.fields.hasSentAll], ['SMTP_UNREACHABLE', true]);
  await assert.rejects(client.send({ ...envelope, port: taking.port, message }), {
    code: 'SMTP_UNREACHABLE',
  });
});

test('SEC-12: input that could smuggle commands is refused before anything is sent', async (t) => {
  const server = await startScripted(t, '220 x\r\n', () => '250 ok');
  for (const bad of [
    { mailFrom: 'a@b.org>\r\nRSET' },
    { recipients: ['a@b.org\r\nDATA'] },
    { recipients: [] },
  ]) {
    await assert.rejects(sendMail({ ...envelope, ...options, port: server.port, message, ...bad }), {
      code: 'SMTP_ADDRESS_INVALID',
    });
  }
  await assert.rejects(
    sendMail({ ...envelope, ...options, hostname: 'x\r\nRSET', port: server.port, message }),
    { code: 'SMTP_ADDRESS_INVALID' },
  );
  assert.equal(server.connections(), 0);
});

test('the null sender can be used', async (t) => {
  const { port, messages } = await startOwn(t);
  await sendMail({ ...envelope, ...options, port, mailFrom: '', message });
  assert.equal(messages[0]?.mailFrom, '');
});

test('EDGE-06: encrypts if the server supports it, with any certificate; a failing handshake continues in clear text', async (t) => {
  const pem = makeTlsCertificate('mx.example.org');
  const { port, messages } = await startOwn(t, { tls: { key: pem, cert: pem } });
  assert.equal((await sendMail({ ...envelope, ...options, port, message })).accepted.length, 1);
  assert.equal(messages[0]?.isSecure, true);
  await sendMail({ ...envelope, ...options, port, message, tls: { mode: 'never' } });
  assert.equal(messages[1]?.isSecure, false);

  for (const starttlsReply of ['220 go ahead', '454 not now']) {
    const shaking = new WeakSet<Socket>();
    const broken = await startScripted(t, '220 x\r\n', (line, socket) => {
      if (shaking.has(socket)) return '';
      if (line.startsWith('EHLO')) return '250-x\r\n250 STARTTLS';
      if (line === 'DATA') return '354 go';
      if (line !== 'STARTTLS') return /^(MAIL|RCPT|\.$)/.test(line) ? '250 ok' : '';
      if (!starttlsReply.startsWith('220')) return starttlsReply;
      shaking.add(socket);
      socket.end('220 go ahead\r\nthis is no handshake');
      return '';
    });
    const outcome = await sendMail({ ...envelope, ...options, port: broken.port, message });
    assert.equal(outcome.accepted.length, 1, starttlsReply);
    const demanding = sendMail({
      ...envelope,
      ...options,
      port: broken.port,
      message,
      tls: { mode: 'required' },
    });
    await assert.rejects(demanding, { isTransient: true });
  }
});

test('TLS on demand checks the certificate', async (t) => {
  const pem = makeTlsCertificate('mx.example.org');
  const { port } = await startOwn(t, { tls: { key: pem, cert: pem } });
  const send = (tls: SmtpClientOptions['tls']) =>
    sendMail({ ...envelope, ...options, port, message, ...(tls && { tls }) });
  await assert.rejects(send({ mode: 'required', serverName: 'mx.example.org' }), {
    code: 'SMTP_TLS_FAILED',
    message: `TLS with SMTP server 127.0.0.1:${port} failed: self-signed certificate`,
  });
  await assert.rejects(send({ mode: 'required', serverName: 'other.example.org', ca: pem }), {
    code: 'SMTP_TLS_FAILED',
    message:
      /failed: Hostname\/IP does not match certificate's altnames: Host: other\.example\.org\. is not in/,
  });
  assert.equal((await send({ mode: 'required', serverName: 'mx.example.org', ca: pem })).accepted.length, 1);
});

test('implicit TLS checks the name or address, and credentials follow the handshake only', async (t) => {
  const pem = makeTlsCertificate('relay.example.org,IP:127.0.0.1');
  const lines: string[] = [];
  const server = tls.createServer({ key: pem, cert: pem }, (socket) => {
    socket.on('error', () => {});
    socket.write('220 relay.example.org\r\n');
    socket.on('data', (chunk: Buffer) => {
      const line = chunk.toString();
      lines.push(line);
      if (line.startsWith('EHLO')) socket.write('250-relay.example.org\r\n250 AUTH PLAIN\r\n');
      else if (line.startsWith('AUTH')) socket.write('235 2.7.0 ok\r\n');
      else socket.end('221 bye\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const place = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  const check = (tlsOptions: NonNullable<SmtpClientOptions['tls']>) =>
    clientFor(t, { tls: tlsOptions, auth: { user: 'u', password: 'p' } }).check(place);
  await assert.rejects(check({ mode: 'implicit' }), { code: 'SMTP_TLS_FAILED' });
  await assert.rejects(check({ mode: 'implicit', serverName: 'other.example.org', ca: pem }), {
    code: 'SMTP_TLS_FAILED',
  });
  assert.equal(lines.length, 0);
  await check({ mode: 'implicit', serverName: 'relay.example.org', ca: pem });
  await check({ mode: 'implicit', ca: pem });
  const auth = lines.filter((line) => line.startsWith('AUTH'));
  assert.deepEqual(auth, Array(2).fill(`AUTH PLAIN ${Buffer.from('\0u\0p').toString('base64')}\r\n`));
});

test('credentials are not sent to a server that does not offer TLS, or takes its offer back', async (t) => {
  const tls: readonly SmtpClientOptions['tls'][] = [
    undefined,
    { mode: 'opportunistic' },
    { mode: 'required' },
  ];
  const servers: readonly (readonly [offer: string, reply: string])[] = [
    ['250-x\r\n250 AUTH PLAIN', '502 5.5.1 what'],
    ['250-x\r\n250-XXXXXXXA\r\n250 AUTH PLAIN', '502 5.5.1 what'],
    ['250-x\r\n250-STARTTLS\r\n250 AUTH PLAIN', '454 4.7.0 not now'],
  ];
  for (const [offer, reply] of servers)
    for (const one of tls) {
      const plain = await startScripted(t, '220 x\r\n', (line) => (line.startsWith('EHLO') ? offer : reply));
      const client = clientFor(t, { ...(one && { tls: one }), auth: { user: 'u', password: 'p' } });
      await assert.rejects(client.check({ host: '127.0.0.1', port: plain.port }), {
        code: 'SMTP_TLS_FAILED',
      });
      assert.ok(!plain.lines.some((line) => line.startsWith('AUTH')), plain.lines.join());
    }
});

test('a TLS session is resumed by the next connection to the same server, and the protocol is reported', async (t) => {
  const pem = makeTlsCertificate('mx.example.org');
  const { port } = await startOwn(t, { tls: { key: pem, cert: pem } });
  const client = clientFor(t, { maxIdlePerServer: 0 });
  const sessions: (Buffer | undefined)[] = [];
  const connect = tls.connect;
  t.mock.method(tls, 'connect', (...args: Parameters<typeof connect>) => {
    const [connectOptions] = args as unknown as [{ session?: Buffer }];
    sessions.push(connectOptions.session);
    return Reflect.apply(connect, tls, args) as tls.TLSSocket;
  });
  const first = await client.send({ ...envelope, port, message });
  await client.send({ ...envelope, port, message });
  assert.equal(first.tls, 'TLSv1.3');
  assert.deepEqual(
    sessions.map((session) => session !== undefined),
    [false, true],
  );
});

test('checks the condition for sending data when the server is ready, and sends nothing if it fails', async (t) => {
  const { port, messages } = await startOwn(t);
  const client = clientFor(t);
  const lost = new Error('the lease was lost');
  await assert.rejects(
    client.send({ ...envelope, port, message, beforeData: () => Promise.reject(lost) }),
    (error) => error === lost,
  );
  assert.equal(
    (await client.send({ ...envelope, port, message, beforeData: async () => {} })).accepted.length,
    1,
  );
  assert.equal(messages.length, 1);
});

test('a server that accepts the data and does not answer: the error says that the message may have arrived', async (t) => {
  let isData = false;
  const { port } = await startScripted(t, '220 x\r\n', (line, socket) => {
    if (line === '.') return void socket.destroy();
    if (isData) return '';
    isData = line === 'DATA';
    return isData ? '354 go' : '250 ok';
  });
  const client = clientFor(t);
  await assert.rejects(client.send({ ...envelope, port, message }), (error) => {
    assert.ok(error instanceof SmtpError);
    assert.equal(error.fields['hasSentAll'], true);
    return true;
  });
});

test('a server that accepts a message before it has it has not accepted it, and its connection is not used again', async (t) => {
  const { port, connections } = await startScripted(t, '220 x\r\n', (line) => {
    if (line === 'DATA') return '354 go\r\n250 2.0.0 queued';
    return /^(EHLO|MAIL|RCPT)/.test(line) ? '250 ok' : '';
  });
  const client = clientFor(t);
  const large = Buffer.alloc(1_000_000, 'line\r\n');
  for (let tries = 0; tries < 2; tries++)
    await assert.rejects(client.send({ ...envelope, port, message: large }), { code: 'SMTP_PROTOCOL' });
  assert.equal(connections(), 2);
});

test('a connection carries so many messages and no more, and so many are kept idle in all', async (t) => {
  const scripted = () =>
    startScripted(t, '220 x\r\n', (line) =>
      line === 'DATA' ? '354 go' : line === '.' || /^[A-Z]/.test(line) ? '250 ok' : '',
    );
  const [one, other] = [await scripted(), await scripted()];
  const limited = clientFor(t, { maxMessagesPerConnection: 2 });
  for (let count = 0; count < 4; count++)
    await limited.send({ ...envelope, port: one.port, message: Buffer.from('x: y\r\n') });
  assert.equal(one.connections(), 2);
  const crowded = clientFor(t, { maxIdle: 1 });
  for (const peer of [one, other, one])
    await crowded.send({ ...envelope, port: peer.port, message: Buffer.from('x: y\r\n') });
  assert.deepEqual([one.connections(), other.connections()], [4, 1]);
});
