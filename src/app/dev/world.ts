import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { silentLog, systemClock, type Closable, type Clock, type Log } from '../../core/index.ts';
import { createDnsServer, type DnsServer, type DnsZone } from '../../lib/dns/index.ts';
import { createSmtpServer } from '../../lib/smtp/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';
import { listSettings, loadConfig } from '../../platform/index.ts';
import { createDomainChecks } from '../doctor/index.ts';
import { createHostedZones, startHisp, type Hisp, type PlaygroundPort } from '../server/index.ts';
import { openAuthority, type SandboxAuthority } from './authority.ts';
import { choosePort, isPortFree } from './ports.ts';
import { edgeSettings } from './sandbox-edges.ts';
import { demoAddress, domains, loopbackAddresses, mailHosts, partners } from './sandbox-names.ts';
import { createOutsideZone, withRootZone } from './sandbox-zones.ts';
import { startSideServer, type SideServer } from './side-server.ts';
import { tapDns } from './wire/tap-dns.ts';
import { tapSmtp } from './wire/tap-smtp.ts';
import type { WireLog } from './wire/wire-log.ts';

export interface WorldOptions {
  /** All state is kept in this folder and reused at the next start. */
  readonly folder: string;
  /** Port of our API; 0 takes any free one. */
  readonly httpPort: number;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Settings for both HISPs, as for `loadConfig`: `{ 'messaging.processedWindowMinutes': '0.1' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Settings of our HISP that override its defaults, except addresses and ports that both HISPs share. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** PostgreSQL databases instead of SQLite files in the folder, as `storage.url`. */
  readonly storageUrls?: Readonly<Partial<Record<'own' | 'partner', string | undefined>>>;
  /** Conditions for the readiness of our HISP. */
  readonly checks?: Readonly<Record<string, () => Promise<void>>>;
  /** Port of every mail server; by default a free one. */
  readonly smtpPort?: number;
  /** Records our HISP's DNS queries and the SMTP lines between the HISPs. */
  readonly wire?: WireLog;
  /** Our HISP serves the edge protocols, too. */
  readonly servesEdges?: boolean;
  /** Our HISP's playground, once it is started. */
  readonly findPlayground?: () => PlaygroundPort | undefined;
}

/**
 * Two HISPs, the DNS that both query, their authorities, a silent mail server and a webhook receiver, all on
 * loopback.
 */
export interface World extends Closable {
  readonly hisp: Hisp;
  readonly partner: Hisp;
  readonly dns: DnsServer;
  readonly side: SideServer;
  /** The authority that both HISPs trust. */
  readonly authority: SandboxAuthority;
  /** The port of every mail server; each has its own address. */
  readonly smtpPort: number;
  /** The port to which our HISP sends: that of the wire's taps if there are any, else `smtpPort`. */
  readonly peerPort: number;
  /** Publishes another domain, or replaces one. */
  publish(zone: DnsZone): void;
  /** Envelopes that the silent mail server accepted. */
  readonly silentMail: readonly {
    readonly mailFrom: string;
    readonly recipients: readonly string[];
    readonly message: Uint8Array;
  }[];
}

const preferred = { side: 8081, dns: 8053, smtp: 8025 } as const;

/** Starts the world of a folder; state from the first start is reused at the next. */
export async function startWorld(options: WorldOptions): Promise<World> {
  // Checked before anything is opened: a second world on the same folder and port must not disturb the first
  // one.
  if (options.httpPort !== 0 && !(await isPortFree('127.0.0.1', options.httpPort))) {
    throw Object.assign(new Error(`port ${options.httpPort} is in use`), { code: 'EADDRINUSE' });
  }
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const closables: Closable[] = [];
  try {
    return await buildWorld(options, closables);
  } catch (error) {
    await closeAll(closables);
    throw error;
  }
}

async function buildWorld(options: WorldOptions, closables: Closable[]): Promise<World> {
  const clock = options.clock ?? systemClock;
  const log = options.log ?? silentLog;
  const isFixed = options.httpPort !== 0;
  const side = keep(
    closables,
    await startSideServer(await choosePort(['127.0.0.1'], isFixed ? preferred.side : 0)),
  );
  const authorities = await openAuthorities(options.folder, side, clock);

  const outside = new Map<string, DnsZone>();
  const hosted: { list(): Promise<readonly DnsZone[]> }[] = [];
  const zones = async (): Promise<readonly DnsZone[]> => [
    ...outside.values(),
    ...(await Promise.all(hosted.map((source) => source.list()))).flat(),
  ];
  const dnsPort = await choosePort(['127.0.0.1', loopbackAddresses.own], isFixed ? preferred.dns : 0);
  const resolved = async (): Promise<readonly DnsZone[]> => withRootZone(await zones());
  const dns = keep(closables, await createDnsServer({ host: '127.0.0.1', port: dnsPort, zones: resolved }));
  // The NS records of our domains name our mail host, so a name server also listens at its address.
  keep(closables, await createDnsServer({ host: loopbackAddresses.own, port: dnsPort, zones }));
  const smtpPort =
    options.smtpPort ?? (await choosePort(Object.values(loopbackAddresses), isFixed ? preferred.smtp : 0));
  const silentMail = await startSilentServer(closables, smtpPort);
  await publishOutside(outside, authorities);
  const taps = options.wire && (await tapWire(options.wire, dns.port, smtpPort, closables));

  const peerPort = taps?.smtpPort ?? smtpPort;

  async function startOne(who: 'own' | 'partner', extra: Readonly<Record<string, string>>): Promise<Hisp> {
    const env = who === 'own' ? (options.env ?? {}) : {};
    const storageUrl = options.storageUrls?.[who];
    const usual = {
      ...(storageUrl === undefined ? {} : { 'storage.url': storageUrl }),
      'smtp.hostname': mailHosts[who],
      'smtp.isBehindRelay': 'true',
      'trust.allowsPrivateTargets': 'true',
      'webhook.allowsPrivateTargets': 'true',
      'directory.searchThreads': '0',
      'console.isServing': 'false',
      ...options.settings,
      ...(who === 'partner' && { 'console.isServing': 'false' }),
      ...(who === 'own' && options.servesEdges === true
        ? await edgeSettings(path.join(options.folder, 'pki'), authorities.shared, options.httpPort)
        : {}),
    };
    const config = loadConfig(env, undefined, {
      ...withoutEnvironment(usual, env),
      dataDir: hispFolder(options.folder, who),
      'smtp.host': loopbackAddresses[who],
      'smtp.port': String(smtpPort),
      'smtp.peerPort': String(peerPort),
      'dns.resolvers': `127.0.0.1:${(who === 'own' ? taps?.dnsPort : undefined) ?? dns.port}`,
      ...extra,
    });
    const hisp = keep(
      closables,
      await startHisp({
        config,
        clock,
        log,
        ...(who === 'own' && options.checks && { checks: options.checks }),
        isSandbox: true,
        createDomainChecks,
        ...(who === 'own' && options.findPlayground && { findPlayground: options.findPlayground }),
        exampleAddresses: { from: demoAddress, to: partners.processed },
      }),
    );
    await provision(hisp, domains[who], authorities.shared);
    const mail = {
      mailHostname: mailHosts[who],
      mailAddresses: [loopbackAddresses[who]],
    };
    const listZones = createHostedZones({ trust: hisp.trust, ttlSeconds: 60, ...mail });
    hosted.push({ list: async () => listZones() });
    return hisp;
  }

  const partner = await startOne('partner', { 'http.port': '0' });
  const hisp = await startOne('own', { 'http.port': String(options.httpPort) });
  return {
    hisp,
    partner,
    dns,
    side,
    authority: authorities.shared,
    smtpPort,
    peerPort,
    silentMail,
    publish: (zone) => void outside.set(zone.name, zone),
    close: () => closeAll(closables),
  };
}

/** Puts a tap in front of our HISP's DNS and every mail server. Returns their addresses. */
async function tapWire(log: WireLog, dnsServerPort: number, serverPort: number, closables: Closable[]) {
  const dnsPort = await choosePort(['127.0.0.1'], 0);
  const port = await choosePort(Object.values(loopbackAddresses), 0);
  const servers = { own: 'this HISP', partner: 'partner HISP', silent: 'silent HISP' } as const;
  keep(closables, await tapDns(dnsPort, dnsServerPort, log));
  for (const who of ['own', 'partner', 'silent'] as const) {
    const client = who === 'own' ? 'partner HISP' : 'this HISP';
    const tap = {
      host: loopbackAddresses[who],
      port,
      serverPort,
      client,
      server: servers[who],
      log,
    } as const;
    keep(closables, await tapSmtp(tap));
  }
  return { dnsPort, smtpPort: port };
}

/** The data folder of one of the two HISPs. */
export function hispFolder(folder: string, who: 'own' | 'partner'): string {
  return path.join(folder, who === 'own' ? 'hisp' : 'partner');
}

/** Omits settings of the environment, since flags would override them. */
function withoutEnvironment(
  settings: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const isSet = new Set(
    listSettings()
      .filter(({ variable }) => (env[variable] ?? '') !== '')
      .map((setting) => setting.path),
  );
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !isSet.has(name)));
}

async function openAuthorities(folder: string, side: SideServer, clock: Clock) {
  const place = { folder: path.join(folder, 'pki'), baseUrl: `${side.baseUrl}/ca`, clock };
  const shared = await openAuthority({ ...place, name: 'sandbox' });
  const untrusted = await openAuthority({ ...place, name: 'stranger' });
  side.serveAuthority(shared);
  side.serveAuthority(untrusted);
  return { shared, untrusted };
}

async function publishOutside(
  outside: Map<string, DnsZone>,
  authorities: { readonly shared: SandboxAuthority; readonly untrusted: SandboxAuthority },
): Promise<void> {
  const mailHost = mailHosts.silent;
  const untrusted = await authorities.untrusted.issue({ domain: domains.untrusted });
  const silent = await authorities.shared.issue({ domain: domains.silent });
  for (const zone of [
    createOutsideZone({ domain: domains.untrusted, mailHost, certificate: untrusted.certificate }),
    createOutsideZone({ domain: domains.uncertified, mailHost }),
    createOutsideZone({
      domain: domains.silent,
      mailHost,
      mailAddress: loopbackAddresses.silent,
      certificate: silent.certificate,
    }),
  ]) {
    outside.set(zone.name, zone);
  }
}

/** Makes the domain, its certificate and its anchor at the first start. */
async function provision(hisp: Hisp, domain: string, authority: SandboxAuthority): Promise<void> {
  if (await hisp.trust.isHostedDomain(domain)) return;
  const pair = await authority.issue({ domain });
  await hisp.trust.addDomain(domain);
  await hisp.trust.addKeyPair(domain, pair.certificate.der, pair.privateKey);
  await hisp.trust.addAnchor(domain, authority.certificate.der);
}

async function startSilentServer(closables: Closable[], port: number) {
  const received: { mailFrom: string; recipients: readonly string[]; message: Uint8Array }[] = [];
  keep(
    closables,
    await createSmtpServer({
      host: loopbackAddresses.silent,
      port,
      hostname: mailHosts.silent,
      handlers: {
        onRecipient: async () => 'accept',
        onMessage: async ({ mailFrom, recipients, message }) => {
          if (received.push({ mailFrom, recipients, message }) > 100) received.shift();
        },
      },
    }),
  );
  return received;
}

/** Adds an address to a HISP unless it is there. */
export async function ensureAddress(
  hisp: Hisp,
  address: DirectAddress,
  status: 'active' | 'disabled' = 'active',
): Promise<void> {
  if ((await hisp.trust.findAddress(address)) === undefined) await hisp.trust.putAddress(address, status);
}

function keep<C extends Closable>(closables: Closable[], closable: C): C {
  closables.unshift(closable);
  return closable;
}

/** Closes each resource once, even if called again. */
async function closeAll(closables: Closable[]): Promise<void> {
  for (const closable of closables.splice(0)) await closable.close();
}
