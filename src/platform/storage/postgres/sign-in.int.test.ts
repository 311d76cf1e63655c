/** A PostgreSQL that does not let the service in: the error names the remedy, and callers may retry. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { TLSSocket } from 'node:tls';
import { makeTlsCertificate } from '../../../../test/support/tls-certificate.ts';
import { isDatabaseAway } from './errors.ts';
import { openPostgresStorage } from './open-postgres.ts';

/** A message of the server: its type, the length of the rest, the rest (PostgreSQL 15, chapter 55.7). */
function message(type: string, ...parts: readonly (string | number)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'string') return Buffer.from(part);
      const number = Buffer.alloc(4);
      number.writeInt32BE(part);
      return number;
    }),
  );
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

/** Opens the storage at a server that answers each packet of a connection by the next function. */
async function open(
  t: TestContext,
  answers: readonly ((socket: Socket) => void)[],
  parameters = '',
): Promise<unknown> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let step = 0;
    socket.on('error', () => {});
    socket.on('data', () => answers[step++]?.(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const url = `postgres://openhisp@127.0.0.1:${port}/openhisp${parameters}`;
  return openPostgresStorage({ url, migrations: [], promptMs: 5_000 });
}

const refusal = (sqlState: string, text: string) => (socket: Socket) =>
  socket.end(message('E', `SFATAL\0VFATAL\0C${sqlState}\0M${text}\0\0`));

for (const [sqlState, text] of [
  ['28P01', 'password authentication failed for user "openhisp"'],
  ['28000', 'no pg_hba.conf entry for host'],
  ['3D000', 'database "openhisp" does not exist'],
] as const)
  test(`${text}: unavailable, with the text of the server`, async (t) => {
    await assert.rejects(open(t, [refusal(sqlState, text)]), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'PLATFORM_STORAGE_UNAVAILABLE');
      assert.ok(error.message.includes(text), error.message);
      assert.equal(
        isDatabaseAway(error),
        false,
        'a start does not wait for what only its operator can change',
      );
      return true;
    });
  });

test('a password that is missing: unavailable, and where to put it', async (t) => {
  if (process.env['PGPASSWORD'] !== undefined) return t.skip('PGPASSWORD is set');
  const challenge = (socket: Socket) => socket.write(message('R', 10, 'SCRAM-SHA-256\0\0'));
  const first = (socket: Socket) => socket.write(message('R', 11, 'r=x,s=eA==,i=4096'));
  await assert.rejects(open(t, [challenge, first]), {
    code: 'PLATFORM_STORAGE_UNAVAILABLE',
    message: /asks for a password, and there is none: set PGPASSWORD, or put it into ~\/\.pgpass/,
  });
});

test('a server without TLS: unavailable, and which settings concern it', async (t) => {
  await assert.rejects(open(t, [(socket) => socket.write('N')], '?sslmode=verify-full'), {
    code: 'PLATFORM_STORAGE_UNAVAILABLE',
    message: /^no TLS connection to PostgreSQL: The server does not support SSL connections \(see sslmode/,
  });
});

test('a certificate that is not accepted: unavailable, and which settings concern it', async (t) => {
  const pem = makeTlsCertificate('db.example.org');
  const handshake = (socket: Socket): void => {
    socket.removeAllListeners('data');
    socket.write('S');
    new TLSSocket(socket, { isServer: true, key: pem, cert: pem }).on('error', () => {});
  };
  await assert.rejects(open(t, [handshake], '?sslmode=verify-full'), {
    code: 'PLATFORM_STORAGE_UNAVAILABLE',
    message: /^no TLS connection to PostgreSQL: self-signed certificate \(see sslmode and sslrootcert/,
  });
});

for (const parameters of ['?sslmode=verify_full', '?sslmode=', '?sslmode=disable&sslmode=yes'])
  test(`${parameters}: refused before a connection, with the names that it can have`, async (t) => {
    const called = (): never => assert.fail('the server was called');
    await assert.rejects(open(t, [called], parameters), {
      code: 'PLATFORM_CONFIG_INVALID',
      message:
        'storage.url: sslmode must be one of disable, no-verify, prefer, require, verify-ca, verify-full',
    });
  });
