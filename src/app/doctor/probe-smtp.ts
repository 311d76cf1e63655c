import { connect, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls, type TLSSocket } from 'node:tls';

export interface SmtpProbe {
  /** The first line from the server, at most 200 characters. */
  readonly greeting: string;
  readonly offersStartTls: boolean;
  /** Why the handshake failed, if it was tried. */
  readonly tlsError?: string;
  /**
   * The end of the server's certificate, and whether it names the host. Its CA is not checked, since peers do
   * not check it either.
   */
  readonly certificate?: (host: string) => { readonly validTo: Date; readonly namesHost: boolean };
}

interface ProbeOptions {
  readonly host: string;
  readonly port: number;
  /** Our name in EHLO. */
  readonly hostname: string;
  readonly timeoutMs: number;
}

/** More than any greeting and list of extensions. */
const maxReplyBytes = 16_384;

/**
 * Opens one session, requests the extensions, tries STARTTLS (RFC 3207) and quits. Rejects if there is no
 * session.
 */
export async function probeSmtp(options: ProbeOptions): Promise<SmtpProbe> {
  const socket = connect({ host: options.host, port: options.port });
  const timer = setTimeout(
    () => socket.destroy(new Error(`no answer within ${options.timeoutMs / 1000} s`)),
    options.timeoutMs,
  );
  try {
    return await readGreeting(socket, options);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

async function readGreeting(socket: Socket, { host, hostname }: ProbeOptions): Promise<SmtpProbe> {
  const replies = readReplies(socket);
  const greeting = printable((await replies.next()).split('\r\n')[0] ?? '');
  if (!greeting.startsWith('220')) return { greeting, offersStartTls: false };
  socket.write(`EHLO ${hostname}\r\n`);
  const offersStartTls = /^250[ -]STARTTLS\r\n/im.test(await replies.next());
  if (!offersStartTls) {
    socket.write('QUIT\r\n');
    return { greeting, offersStartTls };
  }
  socket.write('STARTTLS\r\n');
  const reply = await replies.next();
  if (!reply.startsWith('220')) return { greeting, offersStartTls, tlsError: printable(reply) };
  replies.stop();
  return { greeting, offersStartTls, ...(await startTls(socket, host)) };
}

async function startTls(socket: Socket, host: string): Promise<Pick<SmtpProbe, 'tlsError' | 'certificate'>> {
  // The probe reads the certificate and sends nothing secret, so it need not trust it.
  const secure: TLSSocket = connectTls({
    socket,
    servername: /[a-z]/i.test(host) ? host : '',
    rejectUnauthorized: false,
  });
  try {
    await new Promise<void>((resolve, reject) => {
      secure.once('secureConnect', resolve);
      secure.once('error', reject);
      secure.once('close', () => reject(new Error('the connection was closed')));
    });
    const peer = secure.getPeerCertificate();
    return {
      certificate: (name) => ({
        validTo: new Date(peer.valid_to),
        namesHost: checkServerIdentity(name, peer) === undefined,
      }),
    };
  } catch (error) {
    return { tlsError: error instanceof Error ? error.message : String(error) };
  } finally {
    secure.destroy();
  }
}

/** Whole replies of the server, one after the other. */
function readReplies(socket: Socket): { next(): Promise<string>; stop(): void } {
  let received = '';
  let failure: Error | undefined;
  let wake = (): void => {};
  const onData = (chunk: Buffer): void => {
    received += chunk.toString('latin1');
    if (received.length > maxReplyBytes) socket.destroy(new Error('the reply is too long'));
    wake();
  };
  socket.on('data', onData);
  socket.on('error', (error) => {
    failure = error;
    wake();
  });
  socket.on('close', () => {
    failure ??= new Error('the connection was closed');
    wake();
  });
  return {
    async next() {
      for (;;) {
        const reply = /^(?:\d{3}-[^\r\n]*\r\n)*\d{3}(?: [^\r\n]*)?\r\n/.exec(received)?.[0];
        if (reply !== undefined) {
          received = received.slice(reply.length);
          return reply;
        }
        if (failure !== undefined) throw failure;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    stop: () => void socket.off('data', onData),
  };
}

/** Makes untrusted text safe for a terminal. */
function printable(text: string): string {
  return text
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 200);
}
