/** Connections that ask for nothing, from however many addresses, keep out nobody who has few. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { startHispChild } from '../admission/start-hisp-child.ts';
import { createTemporaryFolder, freePort, waitUntil } from '../support/processes.ts';
import { makeTlsCertificate } from '../support/tls-certificate.ts';

interface Listener {
  readonly port: number;
  /** Connections that it takes of one address, and of all. */
  readonly ofAddress: number;
  readonly total: number;
  readonly half: Buffer | string;
  /** What asks for an answer; nothing where the server speaks first. */
  readonly question?: Buffer | string;
  readonly isTls?: boolean;
  readonly answer: RegExp;
}

const halfHttp = 'GET /health/live HTTP/1.1\r\nHost: x\r\nX-Half: ';
const http = {
  half: halfHttp,
  question: 'GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  answer: /^HTTP\/1\.1 /,
};
/** The start of a handshake that never goes on. */
const halfHandshake = Buffer.from('16030100c8010000c40303', 'hex');
const https = { ...http, half: halfHandshake, isTls: true };
/** For the start of authority of a name, over TCP. */
const dnsQuestion = Buffer.from('0011000701000001000000000000' + '0000060001', 'hex');
const anonymousBind = Buffer.from('300c020101600702010304008000', 'hex');

const limits = { ofAddress: 20, total: 40 };
const limited = (section: string): string[] => [
  `OPENHISP_${section}_MAX_CONNECTIONS=${limits.total}`,
  `OPENHISP_${section}_MAX_CONNECTIONS_PER_ADDRESS=${limits.ofAddress}`,
];
const smtpLimits = [...limited('SMTP'), 'OPENHISP_SMTP_MAX_CONNECTIONS_PER_NETWORK=100'];
const metricsLimits = { ofAddress: 20, total: 40 };
const consoleLimits = { ofAddress: 200, total: 500 };
const publishingLimits = { ofAddress: 32, total: 256 };

test('half requests of many addresses close no listener for others, and are counted', async (t) => {
  const [metrics, dns, ldap] = [await freePort(), await freePort(), await freePort()];
  const child = await startHispChild(1, [
    ...limited('HTTP'),
    ...smtpLimits,
    `OPENHISP_HTTP_METRICS_PORT=${metrics}`,
    'OPENHISP_DNS_IS_SERVING=true',
    `OPENHISP_DNS_PORT=${dns}`,
    'OPENHISP_DNS_IS_BEHIND_RELAY=true',
    'OPENHISP_SMTP_PUBLIC_ADDRESSES=192.0.2.1',
    'OPENHISP_LDAP_IS_SERVING=true',
    `OPENHISP_LDAP_PORT=${ldap}`,
  ]);
  t.after(() => child.stop());
  await flood(t, metrics, {
    api: { port: Number(new URL(child.baseUrl).port), ...limits, ...http },
    console: { port: Number(new URL(child.consoleUrl).port), ...consoleLimits, ...http },
    metrics: { port: metrics, ...metricsLimits, ...http },
    smtp: { port: child.smtpPort, ...limits, half: 'EHL', answer: /^220 / },
    dns: { port: dns, ...publishingLimits, half: Buffer.of(0, 40, 1), question: dnsQuestion, answer: /^\0/ },
    ldap: {
      port: ldap,
      ...publishingLimits,
      half: Buffer.of(0x30, 40),
      question: anonymousBind,
      answer: /^0/,
    },
  });
});

test('half handshakes and half sign-ins of many addresses close no listener with TLS', async (t) => {
  const pem = makeTlsCertificate('localhost');
  const folder = await createTemporaryFolder('connections');
  t.after(() => folder.remove());
  const file = path.join(folder.path, 'tls.pem');
  await writeFile(file, pem);
  const [metrics, console_] = [await freePort(), await freePort()];
  const names = ['line', 'smtps', 'submission', 'imaps', 'imap', 'pop3s', 'pop3'] as const;
  const ports = await Promise.all(names.map(() => freePort()));
  const portOf = Object.fromEntries(names.map((name, n) => [name, ports[n] ?? 0]));
  const tls = (section: string): string[] => [
    `OPENHISP_${section}_TLS_KEY_FILE=${file}`,
    `OPENHISP_${section}_TLS_CERTIFICATE_FILE=${file}`,
  ];
  const child = await startHispChild(0, [
    ...['HTTP', 'CONSOLE', 'SMTP', 'EDGE'].flatMap(tls),
    ...limited('HTTP'),
    ...limited('EDGE'),
    ...smtpLimits,
    `OPENHISP_HTTP_METRICS_PORT=${metrics}`,
    `OPENHISP_CONSOLE_PORT=${console_}`,
    `OPENHISP_CONSOLE_PUBLIC_URL=https://localhost:${console_}`,
    'OPENHISP_EDGE_IS_SERVING=true',
    ...names.map((name) => `OPENHISP_EDGE_${name.toUpperCase()}_PORT=${portOf[name]}`),
  ]);
  t.after(() => child.stop());
  const edge = (name: string, isTls: boolean, greeting: RegExp): Listener => ({
    port: portOf[name] ?? 0,
    ...limits,
    half: isTls ? halfHandshake : 'a',
    isTls,
    answer: greeting,
  });
  await flood(t, metrics, {
    api: { port: Number(new URL(child.baseUrl).port), ...limits, ...https },
    console: { port: console_, ...consoleLimits, ...https },
    line: { ...edge('line', true, /^ERROR /), question: 'x\r\n' },
    smtps: edge('smtps', true, /^220 /),
    submission: edge('submission', false, /^220 /),
    imaps: edge('imaps', true, /^\* OK /),
    imap: edge('imap', false, /^\* OK /),
    pop3s: edge('pop3s', true, /^\+OK/),
    pop3: edge('pop3', false, /^\+OK/),
  });
});

async function flood(t: TestContext, metrics: number, listeners: Readonly<Record<string, Listener>>) {
  for (const [name, listener] of Object.entries(listeners)) {
    const { port, ofAddress, total, half } = listener;
    // More than it takes of each, from more addresses than it has room for.
    const each = ofAddress + 5;
    const halves = await Promise.all(
      Array.from({ length: each * Math.ceil(total / ofAddress + 1) }, (_, n) =>
        open(t, port, `127.${2 + Math.floor(n / each)}.0.1`),
      ),
    );
    for (const socket of halves) socket.write(half);
    // All of them are new: nobody waits until they have been idle for some time.
    for (let asked = 0; asked < 5; asked++) await isAnswered(name, listener);
    for (const socket of halves) socket.destroy();
  }
  const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
  for (const name of Object.keys(listeners))
    for (const reason of ['address', 'idle'])
      assert.match(
        text,
        new RegExp(`openhisp_connections_closed_total\\{listener="${name}",reason="${reason}"\\} [1-9]`),
      );
}

async function open(t: TestContext, port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Of another host than the half requests. */
async function isAnswered(name: string, { port, isTls, question, answer }: Listener): Promise<void> {
  const socket =
    isTls === true
      ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  if (question !== undefined) socket.write(question);
  await waitUntil(() => answer.test(received), { timeoutMs: 10_000, what: `${name} to answer` });
  socket.destroy();
}
