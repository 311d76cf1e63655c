/** The memory of the service is limited, whatever the load (Decision 0020): measured from outside, on a whole HISP. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { waitUntil } from '../support/processes.ts';
import { startHispChild, type HispChild } from './start-hisp-child.ts';

const megabyte = 1_000_000;
const needsProc = { skip: process.platform === 'linux' ? false : 'needs /proc' };

function sendJson(bytes: number): Buffer {
  const start =
    '{"fromDirectAddress":"alice@direct.alpha.example","toDirectAddress":"bob@direct.beta.example","emailAttachmentList":[{"attachmentClass":"application/octet-stream","attachmentContent":"';
  const end = '"}]}';
  const content = bytes - start.length - end.length;
  return Buffer.from(`${start}${'QUJD'.repeat(Math.floor(content / 4))}${end}`);
}

interface Upload {
  readonly socket: Socket;
  /** Status of the answer; 0 while there is none. */
  status: number;
  isClosed: boolean;
}

/** Sends a request, all but the last bytes, as fast as it is taken. */
function upload(child: HispChild, token: string, body: Buffer, missing: number): Upload {
  const { port } = new URL(child.baseUrl);
  const socket = connect(Number(port), '127.0.0.1');
  const one: Upload = { socket, status: 0, isClosed: false };
  socket.on('error', () => {});
  socket.on('close', () => (one.isClosed = true));
  socket.on('data', (chunk: Buffer) => (one.status ||= Number(/^HTTP\/1\.1 (\d+)/.exec(String(chunk))?.[1])));
  socket.write(
    `POST /messaging/dirmsg/send_ccda HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  socket.write(body.subarray(0, body.length - missing));
  return one;
}

describe('memory', needsProc, () => {
  test('70 uploads of 33 MB, each just short of its end, hold less than 1 GB, and give it back', async (t) => {
    const child = await startHispChild(10);
    t.after(() => child.stop());
    const before = child.residentBytes();
    const body = sendJson(33 * megabyte);
    const uploads = Array.from({ length: 70 }, (_, n) =>
      upload(child, child.tokens[n % child.tokens.length] ?? '', body, 10),
    );
    t.after(() => {
      for (const { socket } of uploads) socket.destroy();
    });
    const waiting = () => uploads.filter(({ status, isClosed }) => status === 0 && !isClosed);
    await waitUntil(() => waiting().every(({ socket }) => socket.writableLength === 0), {
      timeoutMs: 50_000,
      what: 'all bodies to be sent or refused',
    });
    const statuses = uploads.map(({ status }) => status);
    assert.ok(
      statuses.every((status) => [0, 429, 503].includes(status)),
      statuses.join(' '),
    );
    const held = waiting();
    assert.ok(held.length >= 3 && held.length <= 6, `${held.length} were admitted`);
    const peak = child.peakResidentBytes();
    assert.ok(peak < 1000 * megabyte, mb(peak));

    // Admitted work is finished: half of it is accepted, the clients of the other half disconnect.
    const finished = held.slice(0, Math.floor(held.length / 2));
    for (const { socket } of finished) socket.write(body.subarray(body.length - 10));
    await waitUntil(() => finished.every(({ status }) => status === 200), {
      timeoutMs: 50_000,
      what: 'what was admitted to be accepted',
    });
    for (const { socket } of uploads) socket.destroy();
    await waitUntil(async () => (await child.metric('openhisp_http_body_bytes')) === 0, {
      timeoutMs: 30_000,
    });
    // Garbage is collected when there is work.
    const isReleased = async (): Promise<boolean> => {
      await (await fetch(`${child.baseUrl}/openapi.json`)).text();
      return child.residentBytes() < before + 250 * megabyte;
    };
    await waitUntil(isReleased, {
      timeoutMs: 50_000,
      what: 'the memory to be given back',
    }).catch((error: unknown) => {
      throw new Error(`still ${Math.round(child.residentBytes() / megabyte)} MB`, { cause: error });
    });
    t.diagnostic(
      [
        `${held.length} admitted`,
        `before ${mb(before)}`,
        `peak while they wait ${mb(peak)}`,
        `peak ${mb(child.peakResidentBytes())}`,
        `after ${mb(child.residentBytes())}`,
      ].join(', '),
    );
  });

  test('plain-text mail to unknown recipients is refused during DATA: nothing is spooled or kept in memory', async (t) => {
    const child = await startHispChild(1);
    t.after(() => child.stop());
    const before = child.residentBytes();
    const line = `${'x'.repeat(78)}\r\n`;
    const message = `From: a@example.net\r\nContent-Type: text/plain\r\n\r\n${line.repeat(500_000)}.\r\n`;
    for (let count = 0; count < 6; count++) {
      const reply = await sendPlain(child.smtpPort, message);
      assert.match(reply, /^554 5\.6\.1 /);
    }
    const after = child.peakResidentBytes();
    t.diagnostic(`before ${mb(before)}, peak ${mb(after)}`);
    // The six messages are 246 MB; what the parser leaves for the garbage collector is 80 to 125.
    assert.ok(after < before + 160 * megabyte, `${mb(before)}, then ${mb(after)}`);
    assert.equal(await child.metric('openhisp_smtp_receiving_bytes'), 0);
    assert.equal(await child.metric('openhisp_mail_rejected_total'), 6);
  });
});

const mb = (bytes: number): string => `${Math.round(bytes / megabyte)} MB`;

async function sendPlain(port: number, message: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  await once(socket, 'connect');
  await waitUntil(() => received.startsWith('220'));
  const commands = ['EHLO x', 'MAIL FROM:<a@example.net>', 'RCPT TO:<nobody@direct.alpha.example>', 'DATA'];
  for (const [n, command] of commands.entries()) {
    socket.write(`${command}\r\n`);
    await waitUntil(() => (received.match(/^\d{3} /gm) ?? []).length > n + 1);
  }
  socket.write(message);
  await waitUntil(() => (received.match(/^\d{3} /gm) ?? []).length > 5, { timeoutMs: 30_000 });
  socket.destroy();
  return received.trimEnd().split('\r\n').at(-1) ?? '';
}
