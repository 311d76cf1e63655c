/**
 * A server that gives out a release as the national directory does: the manifest as it is, each file by a redirect to a
 * signed URL of an object store, which knows GET with Range and If-Range, an ETag, and no HEAD.
 * As a program: `node test/directory/npd/release-server.ts FOLDER [PORT]`.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

export interface ReleaseServer {
  readonly manifestUrl: string;
  /** The host that files are redirected to. */
  readonly storeHost: string;
  /** Requests to the store: name, Range, status. */
  readonly served: { readonly name: string; readonly range: string | undefined; readonly status: number }[];
  /** May answer instead of the server: returns true if it did. */
  meddle: (request: IncomingMessage, response: ServerResponse, name: string) => boolean | Promise<boolean>;
  /** The ETag of a file, in place of one made of its content. */
  etagOf: ((name: string) => string) | undefined;
  close(): Promise<void>;
}

export async function startReleaseServer(folder: string, port = 0): Promise<ReleaseServer> {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const base = `:${(server.address() as AddressInfo).port}`;
  const self: ReleaseServer = {
    manifestUrl: `http://127.0.0.1${base}/downloads/manifest.json`,
    storeHost: 'localhost',
    served: [],
    meddle: () => false,
    etagOf: undefined,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://server');
    const name = path.basename(url.pathname);
    const file = path.join(folder, name);
    if (await self.meddle(request, response, name)) return;
    const size = await sizeOf(file);
    if (size === undefined) return void response.writeHead(404).end();
    if (name === 'manifest.json') return void response.end(await readFile(file));
    if (url.pathname.startsWith('/downloads/'))
      return void response
        .writeHead(302, { location: `http://localhost${base}/store/${name}?X-Amz-Signature=secret` })
        .end();
    await serveFile(request, response, file, size);
  }

  async function serveFile(request: IncomingMessage, response: ServerResponse, file: string, size: number) {
    const name = path.basename(file);
    const etag = self.etagOf?.(name) ?? `"${createHash('md5').update(`${name}${size}`).digest('hex')}"`;
    const headers = { etag, 'accept-ranges': 'bytes', 'content-type': 'binary/octet-stream' };
    const { range } = request.headers;
    const note = (status: number): void => void self.served.push({ name, range, status });
    if (request.method !== 'GET') {
      note(403);
      return void response.writeHead(403).end();
    }
    const start = Number(/^bytes=([0-9]+)-$/.exec(range ?? '')?.[1] ?? 0);
    const isPart = range !== undefined && request.headers['if-range'] === etag;
    if (isPart && start >= size) {
      note(416);
      return void response.writeHead(416, headers).end();
    }
    const first = isPart ? start : 0;
    note(isPart ? 206 : 200);
    response.writeHead(isPart ? 206 : 200, {
      ...headers,
      'content-length': size - first,
      ...(isPart ? { 'content-range': `bytes ${first}-${size - 1}/${size}` } : {}),
    });
    createReadStream(file, { start: first }).pipe(response);
  }

  return self;
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch {
    return undefined;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const server = await startReleaseServer(process.argv[2] ?? '.', Number(process.argv[3] ?? 0));
  console.log(server.manifestUrl);
}
