import { existsSync } from 'node:fs';
import path from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { packageRoot, type Log } from '../../core/index.ts';
import { sendRefusal } from '../http/index.ts';
import { isApiRoute } from './guard.ts';
import type { ConsoleApp } from './types.ts';

/** The built front end: `dist/console` of a checkout and of the package. */
const builtFolder = path.join(packageRoot, 'dist/console');

/** esbuild's names with a hash of their content. */
const hashedName = /-[A-Z0-9]{8}\.[a-z0-9.]+$/;

const notBuilt = `<!doctype html><html lang="en"><title>openhisp console</title>
<h1>The console is not built</h1>
<p>In a checkout: <code>npm ci</code>, then <code>node tools/build-console.ts</code>. The API under <code>/admin/v1</code> works.</p></html>
`;

/** Serves the front end; every path without a file is a screen, which the router of the front end shows. */
export async function addStaticFiles(app: ConsoleApp, log: Log, folder = builtFolder): Promise<void> {
  await app.register(fastifyStatic, {
    root: folder,
    wildcard: true,
    preCompressed: true,
    suppressWarning: true,
    index: false,
    redirect: false,
    dotfiles: 'ignore',
    cacheControl: false,
    setHeaders: (reply, file) => {
      reply.header(
        'Cache-Control',
        hashedName.test(path.basename(file).replace(/\.(?:br|gz)$/, ''))
          ? 'public, max-age=31536000, immutable'
          : 'no-cache',
      );
    },
  });
  // A segment `..`, however it is written, is a path that does not exist.
  app.addHook('onRequest', async (request, reply) => {
    if (!isApiRoute(request) && climbs(request.url)) return sendNotFound(request, reply, log);
    return undefined;
  });
  const answer = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    answerUnknown(request, reply, log, folder);
  // The folder itself is not a file.
  app.get('/', answer);
  app.setNotFoundHandler(answer);
}

function answerUnknown(request: FastifyRequest, reply: FastifyReply, log: Log, folder: string): FastifyReply {
  const [pathname = ''] = request.url.split(/[?#]/, 1);
  // Host names and addresses in a path contain dots, too, so a dot does not identify a file.
  const wantsPage =
    !path.basename(pathname).includes('.') || request.headers.accept?.includes('text/html') === true;
  const isScreen =
    (request.method === 'GET' || request.method === 'HEAD') && wantsPage && !pathname.startsWith('/assets/');
  if (pathname.startsWith('/admin') || !isScreen) return sendNotFound(request, reply, log);
  if (!existsSync(path.join(folder, 'index.html')))
    return reply
      .code(503)
      .type('text/html; charset=utf-8')
      .header('Cache-Control', 'no-store')
      .send(notBuilt);
  return reply.sendFile('index.html');
}

function sendNotFound(request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  const error = Object.assign(new Error('path not found'), { statusCode: 404 });
  return sendRefusal(error, request, reply, log);
}

function climbs(url: string): boolean {
  const pathname = (url.split(/[?#]/, 1)[0] ?? '').replaceAll(/%2e/gi, '.').replaceAll(/%2f|%5c/gi, '/');
  return pathname.split(/[/\\]/).includes('..');
}
