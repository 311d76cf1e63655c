/**
 * One client with all its allowances, and peers with the largest messages: a separate process, so that the HISPs' DNS and webhook
 * receiver are not slowed by it. Its argument is a `HeavyTask`; its parent says who begins, and is told the counts of what was answered.
 */
import { createPrivateKey, randomBytes, randomUUID } from 'node:crypto';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { sealMessage } from '../../src/lib/direct/index.ts';
import { readCertificate } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import type { HeavyTask, LoadKind } from './heavy-load.ts';

const { baseUrl, clientId, clientSecret, smtpPort, own, far } = JSON.parse(
  process.argv[2] ?? '',
) as HeavyTask;
const sendPath = '/messaging/dirmsg/send_ccda';
const port = Number(new URL(baseUrl).port);
/** Networks, as the service counts them. */
const networks = ['127.0.21.1', '127.0.22.1', '127.0.23.1'];
const privateKey = createPrivateKey({
  key: Buffer.from(far.privateKey, 'base64'),
  format: 'der',
  type: 'pkcs8',
});
const tally: Record<string, number> = {};
const count = (what: string): void => void (tally[what] = (tally[what] ?? 0) + 1);
let token = '';

// What it attacks shares its processors in the test, and not elsewhere.
setPriority(10);

async function takeToken(): Promise<void> {
  const granted = await fetch(`${baseUrl}/oauth2/direct/v1/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'messaging.api' }),
  });
  token = ((await granted.json()) as { access_token: string }).access_token;
}

function open(at: NetConnectOpts): Socket {
  const socket = connect(at);
  socket.on('error', () => {});
  return socket;
}

/** A request: a whole one until it is answered, otherwise its end or its answer is held for some seconds, or until it is refused. */
async function ask(what: string, head: string, body?: Buffer, missing = 0): Promise<void> {
  const socket = open({ port, host: '127.0.0.1' });
  const leaving = new AbortController();
  let outcome = 'held';
  socket.once('data', (chunk: Buffer) => {
    outcome = /^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1'))?.[1] ?? 'closed';
    socket.pause();
    if (body !== undefined) leaving.abort();
  });
  const type =
    body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  socket.write(`${head} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${type}\r\n`);
  if (body !== undefined) socket.write(body.subarray(0, body.length - missing));
  const isWhole = body !== undefined && missing === 0;
  await delay(isWhole ? 120_000 : 10_000, undefined, { signal: leaving.signal }).catch(() => {});
  count(`${what} ${outcome}`);
  socket.destroy();
}

/** The large messages of the mailbox; what is more of them than needed is acknowledged. */
async function listLargest(): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${token}` };
  try {
    const listed = await fetch(`${baseUrl}/messaging/dirmsg/inbox?limit=100`, { headers });
    const { result = [] } = (await listed.json()) as { result?: { messageId: string; sizeBytes: number }[] };
    const ids = result
      .toSorted((one, other) => other.sizeBytes - one.sizeBytes)
      .map(({ messageId }) => messageId);
    for (const id of ids.slice(6)) {
      await (await fetch(`${baseUrl}/messaging/dirmsg/inbox/${id}/ack`, { method: 'POST', headers })).text();
    }
    return ids.slice(0, 6);
  } catch {
    count('list closed');
    return [];
  }
}

function useClient(): void {
  const send = (type: string, content: Buffer): Buffer =>
    Buffer.from(
      `{"fromDirectAddress":"${own.address}","toDirectAddress":"${far.address}","emailAttachmentList":[{"attachmentClass":"${type}","attachmentContent":"${content.toString('base64')}"}]}`,
    );
  const large = send('application/octet-stream', randomBytes(24e6));
  const bodies = [
    large,
    send('text/xml', Buffer.from(`<a>${'<b c="d"/>'.repeat(2_300_000)}</a>`)),
    Buffer.from('['.repeat(36e6)),
    Buffer.from(`{${Array.from({ length: 2_000_000 }, (_, n) => `"n${n}":1`).join(',')}}`),
  ];
  const post = `POST ${sendPath}`;
  const repeat = async (work: () => Promise<unknown>): Promise<never> => {
    for (;;) {
      await work();
      await delay(Math.random() * 500);
    }
  };
  for (const body of [...bodies, ...bodies, ...bodies]) void repeat(async () => ask('upload', post, body));
  for (let n = 0; n < 8; n++) void repeat(async () => ask('part', post, large, 9));
  void repeat(async () => {
    // The token lasts for an hour. It is asked for in vain while the service has no room.
    await takeToken().catch(() => count('token closed'));
    const ids = await listLargest();
    await Promise.all(
      Array.from({ length: 96 }, async (_, n) =>
        ask('unread', `GET /messaging/dirmsg/inbox/${ids[n % ids.length]}`),
      ),
    );
  });
}

const shapes: readonly (() => Uint8Array)[] = [
  () =>
    makeMessage(
      'application/octet-stream',
      randomBytes(19e6).toString('base64').replaceAll(/.{76}/g, '$&\r\n'),
    ),
  () => makeMessage('text/plain; charset=utf-8', `${'é'.repeat(30)}\r\n`.repeat(420_000)),
  () =>
    makeMessage(
      'multipart/mixed; boundary=b',
      `${`--b\r\nContent-Type: text/plain; charset=utf-16\r\n${'X-Y: zzzzzzzzzzzzzzzzzzzz\r\n'.repeat(18)}\r\n${`${'a'.repeat(70)}\r\n`.repeat(360)}\r\n`.repeat(990)}--b--\r\n`,
    ),
];

function makeMessage(type: string, body: string): Uint8Array {
  const encoding = type.startsWith('application') ? 'Content-Transfer-Encoding: base64\r\n' : '';
  return sealMessage({
    message: Buffer.from(
      `From: ${far.address}\r\nTo: ${own.address}\r\nMessage-ID: <${randomUUID()}@${far.domain}>\r\nDate: ${new Date().toUTCString()}\r\nMIME-Version: 1.0\r\n${encoding}Content-Type: ${type}\r\n\r\n${body}`,
    ),
    signers: [{ certificate: readCertificate(Buffer.from(far.certificate, 'base64')), privateKey }],
    recipients: [
      {
        address: parseDirectAddress(own.address),
        certificates: [readCertificate(Buffer.from(own.certificate, 'base64'))],
      },
    ],
    at: new Date(),
  }).message;
}

async function offer(from: string, message: Uint8Array): Promise<void> {
  const socket = open({ port: smtpPort, host: '127.0.0.2', localAddress: from });
  let [received, isClosed, wake] = ['', false, (): void => {}];
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    wake();
  });
  socket.on('close', () => {
    isClosed = true;
    wake();
  });
  const steps: readonly (string | Uint8Array)[] = [
    `EHLO x\r\n`,
    `MAIL FROM:<${far.address}> SIZE=${message.length + 50}\r\n`,
    `RCPT TO:<${own.address}>\r\n`,
    'DATA\r\n',
    // Other octets each time, so that it is opened again.
    Buffer.concat([Buffer.from(`X-Turn: ${randomUUID()}\r\n`), message, Buffer.from('\r\n.\r\n')]),
  ];
  for (const [index, step] of [undefined, ...steps].entries()) {
    if (step !== undefined) socket.write(step);
    const replies = (): readonly string[] => received.match(/^\d{3} .*\r\n/gm) ?? [];
    while (replies().length <= index && !isClosed) await new Promise<void>((done) => (wake = done));
    const reply = replies()[index]?.slice(0, 3) ?? 'closed';
    if (/^[23]/.test(reply) && index < steps.length) continue;
    count(`mail ${reply}`);
    break;
  }
  socket.destroy();
}

async function usePeer(from: string): Promise<void> {
  let messages = shapes.map((make) => make());
  for (let turn = 1; ; turn++) {
    await Promise.all(messages.map((message) => offer(from, message)));
    await delay(500);
    // New messages are stored, the others are found to have come before.
    if (turn % 5 === 0) messages = shapes.map((make) => make());
  }
}

process.on('message', (kind: LoadKind) => {
  if (kind === 'client') useClient();
  else for (const network of networks) void usePeer(network);
});
await takeToken();
setInterval(() => process.send?.(tally), 500);
// Something to fetch, and to be left unread, is there before anything else begins.
for (const make of shapes) await offer(networks[0] ?? '', make());
process.send?.(tally);
