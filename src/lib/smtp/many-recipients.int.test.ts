import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createSmtpClient } from './client.ts';

/**
 * A server's replies to what comes after `MAIL`; `to` are the recipients that it has taken in this
 * transaction.
 */
interface Manners {
  readonly rcpt: (address: string, to: readonly string[], transaction: number) => string;
  readonly dot?: (transaction: number) => string;
  readonly hasPipelining?: boolean;
  /** Ends the session after so many messages. */
  readonly messagesPerSession?: number;
}

interface Seen {
  /** Recipients of each message that was taken. */
  readonly messages: string[][];
  sessions: number;
}

async function startServer(t: TestContext, manners: Manners): Promise<Seen & { port: number }> {
  const seen: Seen & { port: number } = { messages: [], sessions: 0, port: 0 };
  let transactions = 0;
  const serve = (socket: Socket): void => {
    let rest = '';
    let to: string[] = [];
    let isData = false;
    let taken = 0;
    seen.sessions++;
    socket.on('error', () => {});
    socket.write('220 mx\r\n');
    const answer = (line: string): string => {
      if (isData) {
        if (line !== '.') return '';
        isData = false;
        const reply = manners.dot?.(transactions) ?? '250 2.0.0 queued';
        if (reply.startsWith('2')) {
          seen.messages.push(to);
          taken++;
        }
        return reply;
      }
      if (line.startsWith('EHLO'))
        return manners.hasPipelining === false ? '250 mx' : '250-mx\r\n250 PIPELINING';
      if (line.startsWith('MAIL')) {
        if (taken >= (manners.messagesPerSession ?? Infinity)) return '421 4.7.0 Enough for one session';
        transactions++;
        to = [];
        return '250 ok';
      }
      const [, address] = /^RCPT TO:<(.*)>/.exec(line) ?? [];
      if (address !== undefined) {
        const reply = manners.rcpt(address, to, transactions);
        if (reply.startsWith('2')) to.push(address);
        return reply;
      }
      isData = line === 'DATA' && to.length > 0;
      return line === 'DATA' ? (isData ? '354 go' : '503 5.5.1 no recipients') : '250 ok';
    };
    socket.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const reply = answer(line);
        if (reply === 'hang up') return void socket.destroy();
        if (reply !== '') socket.write(`${reply}\r\n`);
        if (reply.startsWith('421')) return void socket.end();
      }
    });
  };
  const server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  seen.port = (server.address() as AddressInfo).port;
  return seen;
}

const five = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@peer.example`);
const [a = '', b = '', c = '', d = '', e = ''] = five;
const message = Buffer.from('Subject: x\r\n\r\nhello\r\n');

async function send(t: TestContext, port: number, recipients = five) {
  const client = createSmtpClient({ hostname: 'out.example.net', timeoutMs: 3_000, tls: { mode: 'never' } });
  t.after(() => client.close());
  let handedOver = 0;
  const outcome = await client.send({
    host: '127.0.0.1',
    port,
    mailFrom: 's@own.example',
    recipients,
    message: () => {
      assert.equal(handedOver, 0, 'the message is not read after it was handed over to all');
      return message;
    },
    afterData: () => void handedOver++,
  });
  return { ...outcome, handedOver };
}

const upTo =
  (count: number, refusal: string): Manners['rcpt'] =>
  (_address, to) =>
    to.length < count ? '250 ok' : refusal;

for (const refusal of [
  '452 too many recipients',
  '452 4.5.3 Too many recipients',
  '452 4.5.3 Recipients belong to multiple regions',
  '452 Requested action not taken',
  '450 4.5.3 Too many recipients, try a new transaction',
  '451 Too many recipients',
  '552 Too many recipients',
  '552 5.5.3 Maximum limit of 2 recipients reached',
  '550 5.5.3 Too many recipients',
  '554 Too many RCPTs',
  '452 4.2.1 Too many RCPT TO',
  '550 5.1.3 Maximum number of recipients exceeded',
  '552 Recipient limit reached',
  '550 Recipients exceed the limit',
  '550 Recipient limit of 2 exceeded',
  '550 The number of recipients is over the limit',
  '452-4.5.3 Your message has too\r\n452 4.5.3 many recipients',
])
  for (const hasPipelining of [true, false])
    test(`after "${refusal.replaceAll('\r\n', ' ')}" the rest goes in the next transactions of the session, ${hasPipelining ? 'with' : 'without'} pipelining`, async (t) => {
      const server = await startServer(t, { rcpt: upTo(2, refusal), hasPipelining });
      const sent = await send(t, server.port);
      assert.deepEqual([sent.accepted, sent.rejected], [five, []]);
      assert.deepEqual(server.messages, [[a, b], [c, d], [e]]);
      assert.deepEqual([server.sessions, sent.handedOver], [1, 1]);
    });

test('a server that takes one recipient per message gets five messages', async (t) => {
  const server = await startServer(t, { rcpt: upTo(1, '452 4.5.3 One at a time') });
  assert.deepEqual((await send(t, server.port)).accepted, five);
  assert.deepEqual([server.messages.length, server.sessions], [5, 1]);
});

for (const refusal of [
  '452 4.2.2 Mailbox full',
  '452 4.3.1 Insufficient system storage',
  '552 5.2.2 Over quota',
  '552 5.2.2 Recipient exceeded storage quota',
  '552 5.2.2 Recipients exceeded their quota',
  '552 Recipient exceeded storage quota',
  '552 Recipients exceeded their quota',
  '550 5.7.1 Recipient limited to internal senders',
  '550 Recipient limited to internal senders',
  '551 5.7.1 recipient limits who may send to it',
  '551 recipient limits who may send to it',
  '552 5.3.4 Recipient limit of 10 MB for message size',
  '552 Recipient limit of 10 MB for message size',
  '550 5.1.1 No such user; number of recipients checked: 1',
  '550 No such user; number of recipients checked: 1',
  '550 5.1.1 User unknown; too many bad recipients',
  '550 5.1.1 Unknown, as too many recipients here are',
  '554 Too many unknown recipients',
  '450 4.2.0 Greylisted',
])
  test(`"${refusal}" of some recipients is not repeated at once`, async (t) => {
    const server = await startServer(t, { rcpt: upTo(2, refusal) });
    const sent = await send(t, server.port);
    assert.deepEqual(sent.accepted, [a, b]);
    assert.deepEqual(
      sent.rejected.map(({ address, isTransient }) => [address, isTransient]),
      [c, d, e].map((address) => [address, refusal.startsWith('4')]),
    );
    assert.deepEqual([server.messages.length, sent.handedOver], [1, 1]);
  });

test('a recipient that is refused for itself keeps that reply, whichever transaction it was in', async (t) => {
  const server = await startServer(t, {
    rcpt: (address, to) =>
      address === a || address === d ? '550 5.1.1 No such user' : upTo(2, '452 4.5.3 Enough')(address, to, 0),
  });
  const sent = await send(t, server.port);
  assert.deepEqual(sent.accepted, [b, c, e]);
  assert.deepEqual(
    sent.rejected.map(({ address, enhancedCode }) => [address, enhancedCode]),
    [
      [a, '5.1.1'],
      [d, '5.1.1'],
    ],
  );
});

test('a server that ends the session after each message gets the rest in new sessions', async (t) => {
  const server = await startServer(t, { rcpt: upTo(2, '452 4.5.3 Enough'), messagesPerSession: 1 });
  assert.deepEqual((await send(t, server.port)).accepted, five);
  assert.deepEqual(server.messages, [[a, b], [c, d], [e]]);
});

for (const dot of ['451 4.3.0 Not now', '554 5.7.1 No', '421 4.3.2 Closing', 'hang up'])
  test(`"${dot}" to the second message takes nothing back of the first`, async (t) => {
    const server = await startServer(t, {
      rcpt: upTo(2, '452 4.5.3 Enough'),
      dot: (transaction) => (transaction === 1 ? '250 ok' : dot),
    });
    const sent = await send(t, server.port);
    assert.deepEqual(sent.accepted, [a, b]);
    assert.deepEqual(sent.rejected.map(({ address }) => address).toSorted(), [c, d, e]);
    assert.equal(sent.rejected.find(({ address }) => address === c)?.isTransient, dot !== '554 5.7.1 No');
    assert.equal(sent.rejected.find(({ address }) => address === e)?.isTransient, true, 'never tried');
  });

test('too many at once is not final even as 5xx, but for a recipient alone', async (t) => {
  const server = await startServer(t, {
    rcpt: (_address, to, transaction) =>
      transaction === 1 && to.length === 0 ? '250 ok' : '550 5.5.3 Too many',
  });
  const sent = await send(t, server.port);
  assert.deepEqual(sent.accepted, [a]);
  assert.ok(sent.rejected.every(({ isTransient }) => isTransient));
  const alone = await send(t, server.port, [e]);
  assert.deepEqual(
    alone.rejected.map(({ isTransient }) => isTransient),
    [false],
  );
});

test('a server that takes none now is not asked again at once', async (t) => {
  const server = await startServer(t, { rcpt: () => '452 4.5.3 Too many recipients' });
  const sent = await send(t, server.port);
  assert.deepEqual([sent.accepted, sent.rejected.length, server.messages.length], [[], 5, 0]);
});
