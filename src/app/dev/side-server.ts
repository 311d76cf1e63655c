import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Closable } from '../../core/index.ts';
import type { SandboxAuthority } from './authority.ts';

/** One call that the webhook receiver took. */
export interface ReceivedWebhook {
  readonly receivedAt: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * The servers next to the HISPs in the sandbox: the authorities' certificates and CRLs, and a webhook
 * receiver.
 */
export interface SideServer extends Closable {
  readonly baseUrl: string;
  /** Puts an authority's certificate and CRL under `/ca/`. */
  serveAuthority(authority: SandboxAuthority): void;
  /** The calls received, newest last; the oldest of more than a thousand are dropped. */
  received(): readonly ReceivedWebhook[];
  /** Called for each call of the webhook of the partner's edge, `POST /partner`. */
  onPartnerMail(listener: () => void): void;
}

const maxReceived = 1000;
const maxBodyBytes = 50_000_000;

/** Starts it on loopback. Calls go to `POST /webhook` and are shown by `GET /webhook`. */
export async function startSideServer(port: number): Promise<SideServer> {
  const authorities = new Map<string, SandboxAuthority>();
  const calls: ReceivedWebhook[] = [];
  let tellPartner = (): void => {};
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await listen(server, port);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = new URL(request.url ?? '/', 'http://sandbox').pathname;
    const [, folder, file = ''] = target.split('/');
    if (folder === 'ca') return sendAuthority(response, file);
    if (folder === 'partner') {
      await readCall(request);
      tellPartner();
      return send(response, 204, 'text/plain', '');
    }
    if (folder !== 'webhook') return send(response, 404, 'text/plain', 'not found\n');
    if (request.method === 'POST') {
      calls.push(await readCall(request));
      if (calls.length > maxReceived) calls.shift();
      return send(response, 204, 'text/plain', '');
    }
    return send(response, 200, 'application/json', `${JSON.stringify(calls, null, 2)}\n`);
  }

  function sendAuthority(response: ServerResponse, file: string): void {
    const authority = authorities.get(file.replace(/\.(?:cer|crl)$/, ''));
    if (authority === undefined) return send(response, 404, 'text/plain', 'not found\n');
    if (file.endsWith('.crl')) return send(response, 200, 'application/pkix-crl', authority.crl());
    return send(response, 200, 'application/pkix-cert', authority.certificate.der);
  }

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serveAuthority: (authority) => void authorities.set(authority.name, authority),
    received: () => calls,
    onPartnerMail: (listener) => void (tellPartner = listener),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

async function readCall(request: IncomingMessage): Promise<ReceivedWebhook> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new RangeError('a webhook call is too large');
    chunks.push(chunk);
  }
  const headers: Record<string, string> = {};
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'content-type']) {
    const value = request.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const text = Buffer.concat(chunks).toString('utf8');
  return { receivedAt: new Date().toISOString(), headers, body: parseJson(text) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function send(response: ServerResponse, status: number, type: string, body: string | Uint8Array): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
  response.end(body);
}
