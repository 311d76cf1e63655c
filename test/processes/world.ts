/** Two HISPs in separate processes, and the DNS, authority and webhook receiver that they meet in this one. */
import { fork, type ChildProcess } from 'node:child_process';
import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { systemClock } from '../../src/core/index.ts';
import {
  choosePort,
  createOutsideZone,
  openAuthority,
  type SandboxAuthority,
} from '../../src/app/dev/index.ts';
import { createDnsServer, type DnsZone } from '../../src/lib/dns/index.ts';
import { readCertificate } from '../../src/lib/pki/index.ts';
import { servingEnvironment, servingOptions } from '../../bin/node-options.js';
import type { MemoryGroup } from '../support/memory-group.ts';
import type {
  Answer,
  DirectoryInspection,
  HispTask,
  Inspection,
  Question,
  Ready,
  Usage,
} from './protocol.ts';

export interface Party {
  readonly domain: string;
  readonly address: string;
  /** DER. */
  readonly certificate: Uint8Array;
  readonly privateKey: KeyObject;
}

export interface HispProcess {
  readonly party: Party;
  /** Of the present run: after a restart the API has another port. */
  readonly ready: Ready;
  readonly process: ChildProcess;
  usage(): Promise<Usage>;
  inspect(): Promise<Inspection>;
  /** Loads a file as the whole directory. Returns what went wrong, or ''. */
  load(file: string): Promise<string>;
  inspectDirectory(): Promise<DirectoryInspection>;
  startProfile(): Promise<void>;
  stopProfile(): Promise<Readonly<Record<string, number>>>;
  /** Ends the process at once, as a loss of power does to its memory. */
  kill(): Promise<void>;
  /** Again; with this added to its environment, as the program of this version whichever it was before. */
  start(upgraded?: Readonly<Record<string, string>>): Promise<void>;
}

/** The body of a status notification, as far as anybody here reads it. */
export interface StatusEvent {
  readonly eventId: string;
  readonly eventType: string;
  readonly messageId: string;
}

export interface ProcessWorld {
  readonly sender: HispProcess;
  readonly receiver: HispProcess;
  /** DER of the authority that issued both certificates. */
  readonly anchor: Uint8Array;
  /** Starts another node of the sender, over the same database; mail to the sender still goes to the first one. */
  addSender(env?: Readonly<Record<string, string>>): Promise<HispProcess>;
  /** Called for every notification. */
  onNotification(listener: (event: StatusEvent) => void): void;
  close(): Promise<void>;
}

export type Who = 'sender' | 'receiver';

export interface ProcessWorldOptions {
  readonly folder: string;
  /** Settings of each HISP over the usual ones. */
  readonly settings?: (who: Who) => Readonly<Record<string, string>>;
  /** The program of another version, with the same `hisp-process.ts`; not of added nodes. */
  readonly program?: (who: Who) => string | undefined;
  /** Served by the DNS besides those of the two. */
  readonly zones?: readonly DnsZone[];
  /** Added to the environment of each. */
  readonly env?: (who: Who) => Readonly<Record<string, string>>;
  /** Limits the memory of a HISP. */
  readonly memory?: (who: Who) => MemoryGroup | undefined;
}

const hosts = { sender: '127.0.0.1', receiver: '127.0.0.2' } as const;
const ownProgram = path.join(import.meta.dirname, 'hisp-process.ts');
const addedHost = '127.0.0.3';

export async function startProcessWorld(options: ProcessWorldOptions): Promise<ProcessWorld> {
  const listeners: ((event: StatusEvent) => void)[] = [];
  const side = createServer((request, response) => {
    if (request.method === 'POST') void takeNotification(request, response, listeners);
    else response.end(request.url?.endsWith('.crl') === true ? authority.crl() : authority.certificate.der);
  });
  side.listen(0, '127.0.0.1');
  await once(side, 'listening');
  const sideUrl = `http://127.0.0.1:${(side.address() as AddressInfo).port}`;
  const pki = path.join(options.folder, 'pki');
  const authority = await openAuthority({
    folder: pki,
    name: 'world',
    baseUrl: sideUrl,
    clock: systemClock,
  });
  const smtpPort = await choosePort([...Object.values(hosts), addedHost], 0);
  const parties = {
    sender: await makeParty(authority, 'sender'),
    receiver: await makeParty(authority, 'receiver'),
  };
  const zones = [
    zoneOf('sender', parties.sender),
    zoneOf('receiver', parties.receiver),
    ...(options.zones ?? []),
  ];
  const dns = await createDnsServer({ host: '127.0.0.1', port: 0, zones: async () => zones });
  const place = { folder: options.folder, smtpPort, dnsPort: dns.port, sideUrl, authority };
  const receiver = await startHispProcess('receiver', parties.receiver, place, options);
  const sender = await startHispProcess('sender', parties.sender, place, options);
  const added: HispProcess[] = [];
  return {
    sender,
    receiver,
    anchor: authority.certificate.der,
    async addSender(env = {}) {
      const nodePlace = {
        ...place,
        host: addedHost,
        dataDir: `sender-${added.length + 2}`,
        client: sender.ready,
        env,
      };
      const node = await startHispProcess('sender', parties.sender, nodePlace, options);
      added.push(node);
      return node;
    },
    onNotification: (listener) => void listeners.push(listener),
    async close() {
      for (const { process: child } of [...added, sender, receiver]) await closeChild(child);
      await dns.close();
      side.closeAllConnections();
      side.close();
    },
  };
}

async function takeNotification(
  request: IncomingMessage,
  response: ServerResponse,
  listeners: readonly ((event: StatusEvent) => void)[],
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  response.writeHead(204).end();
  const event = JSON.parse(Buffer.concat(chunks).toString()) as StatusEvent;
  for (const listener of listeners) listener(event);
}

async function makeParty(authority: SandboxAuthority, who: Who): Promise<Party> {
  const domain = `direct.${who}.example`;
  const { certificate, privateKey } = await authority.issue({ domain });
  return { domain, address: `someone@${domain}`, certificate: certificate.der, privateKey };
}

function zoneOf(who: Who, { domain, certificate }: Party): DnsZone {
  return createOutsideZone({
    domain,
    mailHost: `mail.${domain}`,
    mailAddress: hosts[who],
    certificate: readCertificate(certificate),
  });
}

interface Place {
  readonly folder: string;
  readonly smtpPort: number;
  readonly dnsPort: number;
  readonly sideUrl: string;
  readonly authority: SandboxAuthority;
  /** Of a further node. */
  readonly host?: string;
  readonly dataDir?: string;
  readonly client?: Ready;
  readonly env?: Readonly<Record<string, string>>;
}

async function startHispProcess(
  who: Who,
  party: Party,
  place: Place,
  { settings, env, program, memory }: ProcessWorldOptions,
): Promise<HispProcess> {
  const task: HispTask = {
    domain: party.domain,
    address: party.address,
    certificate: Buffer.from(party.certificate).toString('base64'),
    privateKey: party.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
    anchor: Buffer.from(place.authority.certificate.der).toString('base64'),
    webhookUrl: `${place.sideUrl}/webhook`,
    settings: {
      dataDir: path.join(place.folder, place.dataDir ?? who),
      'http.port': '0',
      'smtp.host': place.host ?? hosts[who],
      'smtp.isBehindRelay': 'true',
      'smtp.port': String(place.smtpPort),
      'smtp.peerPort': String(place.smtpPort),
      'smtp.hostname': `mail.${party.domain}`,
      'dns.resolvers': `127.0.0.1:${place.dnsPort}`,
      'trust.allowsPrivateTargets': 'true',
      'webhook.allowsPrivateTargets': 'true',
      'directory.searchThreads': '0',
      'messaging.sendsPerSecond': '100000',
      'messaging.sendsBurst': '100000',
      ...settings?.(who),
    },
  };
  const group = memory?.(who);
  const nodeOptions = servingOptions(process.versions.node, group?.limitBytes);
  let child: ChildProcess;
  let ready: Ready | undefined;

  async function start(upgraded?: Readonly<Record<string, string>>): Promise<void> {
    const known = ready ?? place.client;
    const client = known === undefined ? {} : { client: known };
    const other = place.env === undefined && upgraded === undefined ? program?.(who) : undefined;
    const text = JSON.stringify({ ...task, ...client });
    child = fork(
      other ?? ownProgram,
      // Of an older version it reads its task there. Other users see what is there.
      other === undefined ? [] : [text],
      {
        // Node reads the limit at its start, so it starts within the group.
        ...(group === undefined
          ? { execArgv: nodeOptions }
          : {
              execPath: '/bin/sh',
              execArgv: [
                '-c',
                'echo $$ > "$0" && exec "$@"',
                group.joinFile,
                process.execPath,
                ...nodeOptions,
              ],
            }),
        env: {
          ...servingEnvironment,
          ...process.env,
          ...env?.(who),
          ...place.env,
          ...upgraded,
          OPENHISP_TEST_TASK: text,
        },
      },
    );
    ready = (await waitFor(child, 'ready')).ready;
  }

  async function ask<Kind extends Answer['kind']>(
    question: Question,
    kind: Kind,
  ): Promise<Extract<Answer, { kind: Kind }>> {
    if (!child.connected) throw new Error('a HISP is not running');
    const answer = waitFor(child, kind);
    // If it ends now, the answer shows it.
    child.send(question, () => {});
    return answer;
  }

  await start();
  return {
    party,
    get ready() {
      return ready as Ready;
    },
    get process() {
      return child;
    },
    usage: async () => (await ask('usage', 'usage')).usage,
    inspect: async () => (await ask('inspect', 'inspection')).inspection,
    load: async (file) => (await ask({ load: file }, 'loaded')).problem,
    inspectDirectory: async () => (await ask('inspect-directory', 'directory')).directory,
    startProfile: async () => void (await ask('start-profile', 'done')),
    stopProfile: async () => (await ask('stop-profile', 'profile')).parts,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    start,
  };
}

async function closeChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
  if (child.connected) child.send('close' satisfies Question, () => {});
  await exit;
  clearTimeout(timer);
}

async function waitFor<Kind extends Answer['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<Answer, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`a HISP ended with ${code}`));
    child.once('exit', onExit);
    child.on('message', function take(answer: Answer) {
      if (answer.kind !== kind) return;
      child.off('message', take);
      child.off('exit', onExit);
      resolve(answer as Extract<Answer, { kind: Kind }>);
    });
  });
}
