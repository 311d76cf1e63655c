import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Closable } from '../../../core/index.ts';
import type { WireLog, WireHost, WireTransaction } from './wire-log.ts';

export interface SmtpTapOptions {
  /** The port of the proxy, and the port of the server behind it. */
  readonly host: string;
  readonly port: number;
  readonly serverPort: number;
  readonly client: WireHost;
  readonly server: WireHost;
  readonly log: WireLog;
}

/** Longer lines are truncated; a command has at most 512 octets (RFC 5321 §4.5.3.1.4). */
const maxLineLength = 200;

/**
 * Forwards SMTP connections to a mail server and records their lines. Of messages it records only the size.
 * It works for clear text only, which the sandbox's servers use on loopback.
 */
export async function tapSmtp(options: SmtpTapOptions): Promise<Closable> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ host: options.host, port: options.serverPort });
    const session = listenIn(options);
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes: Buffer) => session.fromClient(bytes));
    upstream.on('data', (bytes: Buffer) => session.fromServer(bytes));
    client.pipe(upstream);
    upstream.pipe(client);
  });
  server.listen({ host: options.host, port: options.port });
  await once(server, 'listening');
  return {
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listenIn({ client, server, log }: SmtpTapOptions) {
  let transaction: WireTransaction = { mailFrom: '', recipients: [] };
  let isData = false;
  let dataBytes = 0;

  const note = (from: WireHost, to: WireHost, text: string): void =>
    log.add({
      atMs: Date.now(),
      kind: 'smtp',
      from,
      to,
      text: text.slice(0, maxLineLength),
      isRefusal: from === server && /^[45]/.test(text),
      name: '',
      transaction,
    });

  function command(line: string): void {
    if (isData) {
      dataBytes += line.length + 2;
      if (line !== '.') return;
      isData = false;
      note(client, server, `message, ${(dataBytes / 1000).toFixed(1)} kB, encrypted`);
      return;
    }
    const envelope = /^(MAIL FROM|RCPT TO):\s*<([^>]*)>/i.exec(line);
    if (envelope?.[1]?.toUpperCase() === 'MAIL FROM') {
      if (transaction.recipients.length > 0) transaction = { mailFrom: '', recipients: [] };
      transaction.mailFrom = envelope[2]?.toLowerCase() ?? '';
    } else if (envelope !== null) transaction.recipients.push(envelope[2]?.toLowerCase() ?? '');
    note(client, server, line);
  }

  function reply(line: string): void {
    if (line.startsWith('354')) {
      isData = true;
      dataBytes = 0;
    }
    // The last line of a reply is recorded; the lines before it list extensions.
    if (line[3] !== '-') note(server, client, line);
  }

  return { fromClient: splitLines(command), fromServer: splitLines(reply) };
}

function splitLines(take: (line: string) => void): (bytes: Buffer) => void {
  let rest = '';
  return (bytes) => {
    const lines = (rest + bytes.toString('latin1')).split('\r\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  };
}
