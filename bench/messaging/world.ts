/** Two HISPs as processes of their own, and the DNS, authority and webhook receivers that they meet in this one. */
import { fork, type ChildProcess } from 'node:child_process';
import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { systemClock } from '../../src/core/index.ts';
import { choosePort, createOutsideZone, openAuthority } from '../../src/app/dev/index.ts';
import { createDnsServer } from '../../src/lib/dns/index.ts';
import type { Answer, HispTask, Question, Ready, Usage } from './protocol.ts';

export interface Party {
  readonly domain: string;
  readonly address: string;
  readonly certificate: Uint8Array;
  readonly privateKey: KeyObject;
}

export interface HispProcess {
  readonly party: Party;
  readonly ready: Ready;
  usage(): Promise<Usage>;
  startProfile(): Promise<void>;
  stopProfile(): Promise<Readonly<Record<string, number>>>;
}

export interface BenchWorld {
  readonly sender: HispProcess;
  readonly receiver: HispProcess;
  /** Hears of every notification, with its body. */
  onNotification(listener: (event: { eventType: string; messageId: string }) => void): void;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly folder: string;
  /** Settings of each HISP over those of the benchmark. */
  readonly settings: (who: 'sender' | 'receiver') => Readonly<Record<string, string>>;
}

const hosts = { sender: '127.0.0.1', receiver: '127.0.0.2' } as const;

export async function startBenchWorld(options: WorldOptions): Promise<BenchWorld> {
  const listeners: ((event: { eventType: string; messageId: string }) => void)[] = [];
  const side = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.writeHead(request.method === 'POST' ? 204 : 200);
      if (request.method === 'POST') {
        response.end();
        const event = JSON.parse(Buffer.concat(chunks).toString()) as (typeof listeners)[0] extends (
          event: infer Event,
        ) => void
          ? Event
          : never;
        for (const listener of listeners) listener(event);
      } else {
        const crl = request.url?.endsWith('.crl') === true;
        response.end(crl ? authority.crl() : authority.certificate.der);
      }
    });
  });
  side.listen(0, '127.0.0.1');
  await once(side, 'listening');
  const sideUrl = `http://127.0.0.1:${(side.address() as AddressInfo).port}`;
  const authority = await openAuthority({
    folder: path.join(options.folder, 'pki'),
    name: 'bench',
    baseUrl: sideUrl,
    clock: systemClock,
  });
  const smtpPort = await choosePort(Object.values(hosts), 0);
  const parties: Party[] = [];
  for (const who of ['sender', 'receiver'] as const) {
    const domain = `direct.${who}.example`;
    const { certificate, privateKey } = await authority.issue({ domain });
    parties.push({ domain, address: `someone@${domain}`, certificate: certificate.der, privateKey });
  }
  const zones = await Promise.all(
    (['sender', 'receiver'] as const).map(async (who, index) => {
      const { domain, certificate } = parties[index] as Party;
      const { readCertificate } = await import('../../src/lib/pki/index.ts');
      return createOutsideZone({
        domain,
        mailHost: `mail.${domain}`,
        mailAddress: hosts[who],
        certificate: readCertificate(certificate),
      });
    }),
  );
  const dns = await createDnsServer({ host: '127.0.0.1', port: 0, zones: async () => zones });
  const children: ChildProcess[] = [];

  async function start(who: 'sender' | 'receiver', party: Party): Promise<HispProcess> {
    const task: HispTask = {
      domain: party.domain,
      address: party.address,
      certificate: Buffer.from(party.certificate).toString('base64'),
      privateKey: party.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
      anchor: Buffer.from(authority.certificate.der).toString('base64'),
      webhookUrl: `${sideUrl}/webhook`,
      settings: {
        dataDir: path.join(options.folder, who),
        'http.port': '0',
        'smtp.host': hosts[who],
        'smtp.port': String(smtpPort),
        'smtp.peerPort': String(smtpPort),
        'smtp.hostname': `mail.${party.domain}`,
        'dns.resolvers': `127.0.0.1:${dns.port}`,
        'trust.allowsPrivateTargets': 'true',
        'webhook.allowsPrivateTargets': 'true',
        'directory.searchThreads': '0',
        'messaging.sendsPerSecond': '100000',
        'messaging.sendsBurst': '100000',
        ...options.settings(who),
      },
    };
    const child = fork(path.join(import.meta.dirname, 'hisp-process.ts'), [JSON.stringify(task)]);
    children.push(child);
    const ask = async <Kind extends Answer['kind']>(
      question: Question,
      kind: Kind,
    ): Promise<Extract<Answer, { kind: Kind }>> => {
      child.send(question);
      return waitFor(child, kind);
    };
    const { ready } = await waitFor(child, 'ready');
    return {
      party,
      ready,
      usage: async () => (await ask('usage', 'usage')).usage,
      startProfile: async () => void (await ask('start-profile', 'done')),
      stopProfile: async () => (await ask('stop-profile', 'profile')).parts,
    };
  }

  const [from, to] = parties as [Party, Party];
  const receiver = await start('receiver', to);
  const sender = await start('sender', from);
  return {
    sender,
    receiver,
    onNotification: (listener) => void listeners.push(listener),
    async close() {
      for (const child of children) {
        const exit = once(child, 'exit');
        child.send('close');
        await exit;
      }
      await dns.close();
      side.closeAllConnections();
      side.close();
    },
  };
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
