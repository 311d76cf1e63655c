import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** Connects to a port of this machine from another of its addresses, 127.0.0.`host`. The connection ends with the test at the latest. */
export async function openSocketFrom(t: TestContext, port: number, host: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress: `127.0.0.${host}` });
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}
