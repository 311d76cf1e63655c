import { connect as connectPlain } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface Place {
  /** As the settings have it: a listener for all addresses is asked on this machine. */
  readonly host: string;
  readonly port: number;
  readonly isTls?: boolean;
  readonly timeoutMs: number;
}

/** Connects. Returns why that failed, or the SHA-256 fingerprint of the certificate, empty without TLS. */
export function askPort({
  host,
  port,
  isTls = false,
  timeoutMs,
}: Place): Promise<{ readonly problem: string } | { readonly fingerprint: string }> {
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const place = { host: own, port, timeout: timeoutMs };
  return new Promise((resolve) => {
    // Whose certificate it is, is what is asked here.
    const socket = isTls ? connectTls({ ...place, rejectUnauthorized: false }) : connectPlain(place);
    const end = (answer: { problem: string } | { fingerprint: string }): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once(isTls ? 'secureConnect' : 'connect', () =>
      end({
        fingerprint: 'getPeerCertificate' in socket ? socket.getPeerCertificate().fingerprint256 : '',
      }),
    );
    socket.once('timeout', () => end({ problem: 'no answer in time' }));
    socket.once('error', (error: NodeJS.ErrnoException) => end({ problem: error.code ?? error.message }));
    socket.once('close', () => end({ problem: 'it closed the connection' }));
  });
}
