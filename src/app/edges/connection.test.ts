import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createSecureContext } from 'node:tls';
import { createConnection, type ServerConnection } from './connection.ts';

/** Both ends of a connection whose answers may take a tenth of a second, and a second for 10 MB. */
async function openBoth(t: TestContext): Promise<{ client: Socket; connection: ServerConnection }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => client.destroy());
  client.on('error', () => {});
  const slowest = { answerMs: 100, bytesPerMs: 10_000 };
  const connection = createConnection(await accepted, () => createSecureContext(), slowest);
  t.after(() => connection.destroy());
  return { client, connection };
}

// More than the buffers of both ends hold.
const answer = Buffer.alloc(20_000_000, 'x');

test('cuts off a client that reads an answer one octet at a time, and lets go of the answer', async (t) => {
  const { client, connection } = await openBoth(t);
  client.pause();
  const reading = setInterval(() => client.read(1), 50);
  t.after(() => clearInterval(reading));
  const began = performance.now();
  assert.equal(await connection.write(answer), false);
  const tookMs = performance.now() - began;
  assert.ok(tookMs > 1_500 && tookMs < 10_000, `${tookMs} ms`);
  assert.equal(await connection.write('more'), false);
});

test('cuts off a client that brings counted octets one at a time, and reads those that come at once', async (t) => {
  for (const isSlow of [true, false]) {
    const { client, connection } = await openBoth(t);
    if (!isSlow) client.write(Buffer.alloc(1_000, 'x'));
    while (!isSlow && !connection.reader.hasMore()) await new Promise((resolve) => setTimeout(resolve, 5));
    const brought = connection.reader.readOctets(1_000);
    const bringing = setInterval(() => client.write('x'), 20);
    t.after(() => clearInterval(bringing));
    assert.equal((await brought)?.length, isSlow ? undefined : 1_000);
  }
});

test('waits for a client that takes an answer', async (t) => {
  const { client, connection } = await openBoth(t);
  client.resume();
  assert.equal(await connection.write(answer), true);
});
