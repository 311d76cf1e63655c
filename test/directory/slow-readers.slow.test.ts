/** The memory of a page that was sent is used again: readers that are slow, leave or ask ahead must still get the right bytes. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
  const records = Array.from({ length: 5000 }, (_, at) => ({
    serv_direct_addr: `a${at}@d.example`,
    prov_last_name: `Name${at}`,
    org_name: `Clinic ${at}`,
    org_street1: `${at} Main Street`,
    org_city: 'Boston',
    org_state: 'MA',
  }));
  await world.load(toCsv(records));
});
after(() => world.close());

const pathOf = (offset: number): string => `/provider-directory/v2/providers?limit=1000&offset=${offset}`;
const offsets = [0, 1000, 2000, 3000, 4000];
// Asked for in advance: more bytes than the buffers of a connection hold.
const many = Array.from({ length: 50 }, (_, at) => offsets[at % 5] as number);

function send(socket: Socket, paths: readonly string[], headers = ''): void {
  const { host } = new URL(world.baseUrl);
  for (const path of paths)
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${world.token}\r\n${headers}\r\n`,
    );
}

function open(): Socket {
  const { hostname, port } = new URL(world.baseUrl);
  return connect(Number(port), hostname);
}

/** The bodies of the answers, in their order. */
async function readAll(socket: Socket, count: number): Promise<Buffer[]> {
  let received = Buffer.alloc(0);
  const bodies: Buffer[] = [];
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) break;
      const head = received.toString('latin1', 0, end);
      assert.match(head, /^HTTP\/1\.1 200/);
      const length = Number(/\ncontent-length: *([0-9]+)/i.exec(head)?.[1]);
      if (received.length < end + 4 + length) break;
      bodies.push(received.subarray(end + 4, end + 4 + length));
      received = received.subarray(end + 4 + length);
    }
    if (bodies.length === count) break;
  }
  return bodies;
}

test('slow readers get their pages while others are answered from the same memory', async () => {
  const expected = new Map<number, string>();
  for (const offset of offsets) {
    const { status, text } = await world.get(pathOf(offset));
    assert.equal(status, 200);
    assert.ok(text.length > 250_000, `a page of ${text.length} bytes`);
    expected.set(offset, text);
  }
  const slow = [many, many.toReversed()].map((own) => ({ own, socket: open().pause() }));
  const leaving = open().pause();
  for (let step = 0; step < many.length; step++) {
    for (const { own, socket } of slow) send(socket, [pathOf(own[step] as number)]);
    if (step < 30) send(leaving, [pathOf(many[step] as number)]);
    else if (step === 30) leaving.destroy();
    // The slow readers' answers are made before this one.
    const offset = offsets[(step + 2) % 5] as number;
    assert.equal((await world.get(pathOf(offset))).text, expected.get(offset));
  }
  for (const { own, socket } of slow) {
    assert.ok(socket.bytesRead < 1_000_000, 'the reader was slow');
    const bodies = await readAll(socket, own.length);
    for (const [at, offset] of own.entries())
      assert.equal(bodies[at]?.toString(), expected.get(offset), `page at ${offset}`);
    socket.destroy();
  }
});

test('a page is compressed before its memory is used again', async () => {
  const expected = await Promise.all(offsets.map(async (offset) => (await world.get(pathOf(offset))).text));
  for (let round = 0; round < 10; round++) {
    const sockets = offsets.map((offset) => {
      const socket = open();
      send(socket, [pathOf(offset)], 'Accept-Encoding: gzip\r\n');
      return socket;
    });
    for (const offset of offsets) await world.get(pathOf(offset));
    for (const [at, socket] of sockets.entries()) {
      const [body] = await readAll(socket, 1);
      assert.equal(gunzipSync(body as Buffer).toString(), expected[at]);
      socket.destroy();
    }
  }
});
