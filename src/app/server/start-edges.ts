import { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createBudget, type Budget } from '../../core/index.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { createDnsServer } from '../../lib/dns/index.ts';
import { createLdapResponder } from '../../lib/ldap/index.ts';
import { readCertificates, writeTrustBundle } from '../../lib/pki/index.ts';
import type { SmtpServer } from '../../lib/smtp/index.ts';
import {
  clearConsolePort,
  noteConsolePort,
  readTlsFiles,
  startRounds,
  useConfiguredFile,
  type Config,
  type Metrics,
  type TlsFiles,
} from '../../platform/index.ts';
import {
  createHttpApp,
  directoryRoutes,
  fhirRoutes,
  messagingRoutes,
  provisioningRoutes,
  trustBundleRoute,
  type DegradedComponent,
  type ExampleAddresses,
  type ReadinessChecks,
  type RouteModule,
} from '../http/index.ts';
import type { DomainChecks, PlaygroundPort } from '../console/index.ts';
import { startEdges, type RunningEdges } from '../edges/index.ts';
import { startSmtpListener } from '../smtp/index.ts';
import type { Operators } from '../../service/operators/index.ts';
import type { Services } from './build-services.ts';
import { createHostedZones } from './hosted-zones.ts';
import { logSometimes } from './log-sometimes.ts';
import { listenerOf, namingListener } from './name-listener.ts';
import { publicAddressesOf } from './public-addresses.ts';
import { followPublishedKeys } from './published-keys.ts';
import type { CoreServices } from './open-core-services.ts';
import type { Resources } from './resources.ts';
import { startMetrics } from './start-metrics.ts';
import { createTlsWatch } from './watch-tls.ts';
import type { WriteProbe } from './write-probe.ts';

export interface HttpExtras {
  readonly checks: ReadinessChecks;
  readonly degraded: () => readonly DegradedComponent[];
  readonly exampleAddresses: ExampleAddresses | undefined;
  readonly writes: WriteProbe;
}

/** Starts the REST API. Returns the address that clients use. */
export async function startHttp(
  core: CoreServices,
  services: Services,
  resources: Resources,
  { checks, degraded, exampleAddresses, writes }: HttpExtras,
): Promise<string> {
  const { config, disk } = core;
  const { directory, messaging, webhooks, provisioning } = services;
  const { metricsHost, metricsPort } = config.http;
  if (metricsPort !== 0) {
    const address = { host: metricsHost, port: metricsPort };
    const named = { ...address, hostSetting: 'http.metricsHost', portSetting: 'http.metricsPort' };
    resources.keep(
      await namingListener(named, () =>
        startMetrics(core.metrics, { ...address, onClosed: core.onClosed('metrics') }),
      ),
    );
  }
  const app = await createHttpApp({
    ...core,
    config: config.http,
    exampleAddresses,
    checks: {
      storage: () => writes.check(),
      disk: async () => disk.requireRoom(),
      directory: async () => {
        if (!directory.isReady()) throw new Error('the directory index is being loaded');
      },
      ...checks,
    },
    degraded,
    isStuck: () => writes.isStuck(),
    onClosed: core.onClosed('api'),
    routes: [
      directoryRoutes({ directory }),
      fhirRoutes({ fhir: directory.fhir, version: packageJson.version, publicUrl: config.http.publicUrl }),
      messagingRoutes({ messaging, webhooks, disk }),
      provisioningRoutes({ provisioning }),
      ...publishedBundle(config),
    ],
  });
  resources.keep({ close: () => app.close() });
  const { server } = app;
  keepTlsFresh('http', core, resources, (files) => {
    if (server instanceof HttpsServer) server.setSecureContext({ ...files, minVersion: 'TLSv1.2' });
  });
  const { host } = config.http;
  await namingListener(listenerOf('http', config.http), () => app.listen({ host, port: config.http.port }));
  const { port } = app.server.address() as AddressInfo;
  const scheme = config.http.tlsKeyFile === undefined ? 'http' : 'https';
  return config.http.publicUrl ?? `${scheme}://${config.http.host}:${port}`;
}

function publishedBundle({ trust: { publishedAnchorsFile } }: Config): RouteModule[] {
  if (publishedAnchorsFile === undefined) return [];
  const bundle = useConfiguredFile('trust.publishedAnchorsFile', publishedAnchorsFile, (bytes) =>
    writeTrustBundle(readCertificates(bytes)),
  );
  return [trustBundleRoute(bundle)];
}

/** Starts the console, unless it is disabled. Returns the address that browsers use. */
export async function startConsoleListener(
  core: CoreServices,
  services: Services,
  resources: Resources,
  more: {
    readonly operators: Operators;
    readonly isSandbox: boolean;
    readonly apiUrl: string;
    readonly domainChecks: DomainChecks | undefined;
    readonly degraded: () => readonly DegradedComponent[];
    readonly isStuck: () => boolean;
    findPlayground(): PlaygroundPort | undefined;
  },
): Promise<string | undefined> {
  if (!core.config.console.isServing) return undefined;
  // Its modules take longer to load than it takes to start, and a program without a console does not need
  // them.
  const { startConsole } = await import('../console/index.ts');
  const listener = resources.keep(
    await namingListener(
      listenerOf('console', { host: core.config.console.host, port: core.config.console.port ?? 0 }),
      () =>
        startConsole({
          ...core,
          ...services,
          ...more,
          onClosed: core.onClosed('console'),
          version: packageJson.version,
        }),
    ),
  );
  keepTlsFresh('console', core, resources, (files) => listener.renewTls(files));
  const { dataDir } = core.config;
  noteConsolePort(dataDir, listener.port);
  resources.keep({ close: async () => clearConsolePort(dataDir) });
  return listener.url;
}

/** Starts the listener for other HISPs. Returns its port. */
export async function startSmtp(
  { config, trust, log, disk, metrics, onClosed }: CoreServices,
  { messaging }: Services,
  resources: Resources,
): Promise<number> {
  const { smtp } = config;
  const { host, port, hostname } = smtp;
  const budget = createBudget({
    total: smtp.maxReceivingBytes,
    perCaller: smtp.maxReceivingBytesPerNetwork,
    smallAmount: 256 * 1024,
  });
  const limits = {
    maxMessageBytes: smtp.maxMessageBytes,
    maxConnections: smtp.maxConnections,
    maxConnectionsPerPeer: smtp.maxConnectionsPerAddress,
    maxConnectionsPerNetwork: smtp.maxConnectionsPerNetwork,
    maxUselessCommands: smtp.maxUselessCommands,
    minBytesPerSecond: smtp.minBytesPerSecond,
    rateWindowMs: smtp.rateWindowSeconds * 1000,
    idleMs: smtp.idleTimeoutMs,
  };
  const tls = readTlsFiles('smtp', config.smtp);
  const listener = await namingListener(listenerOf('smtp', { host, port }), () =>
    startSmtpListener({
      host,
      port,
      hostname,
      limits,
      budget,
      trust,
      messaging,
      disk,
      log,
      onClosed: onClosed('smtp'),
      ...(tls && { tls }),
    }),
  );
  keepTlsFresh('smtp', { config, log }, resources, (files) => listener.renewTls(files));
  measureSmtp(metrics, listener, budget);
  return resources.keep(listener).port;
}

/** Starts the edges for software that speaks no REST, if they are served. Returns their ports. */
export async function startEdgeProtocols(
  core: CoreServices,
  { messaging, edges, edgeBudgets }: Services,
  resources: Resources,
): Promise<RunningEdges['ports']> {
  const { config, clock, log, disk } = core;
  const tls = config.edge.isServing ? readTlsFiles('edge', config.edge) : undefined;
  if (tls === undefined) return {};
  const running = await startEdges({
    config: config.edge,
    hostname: config.edge.hostname ?? config.smtp.hostname,
    tls,
    edges,
    messaging,
    ...edgeBudgets,
    disk,
    clock,
    log,
    onClosed: core.onClosed,
    open: (name, start) => {
      const portSetting = `edge.${name}Port` as const;
      const { host } = config.edge;
      const port = config.edge[`${name}Port`];
      return namingListener({ host, port, hostSetting: 'edge.host', portSetting }, start);
    },
  });
  resources.keep(running);
  keepTlsFresh('edge', core, resources, (files) => running.renewTls(files));
  return running.ports;
}

/** Renewed certificates are used within a minute, without a restart. */
function keepTlsFresh(
  section: 'http' | 'smtp' | 'console' | 'edge',
  { config, log }: Pick<CoreServices, 'config' | 'log'>,
  resources: Resources,
  use: (files: TlsFiles) => void,
): void {
  if (config[section].tlsKeyFile === undefined) return;
  const watch = createTlsWatch(section, config[section], log, use);
  resources.keep(
    startRounds({ name: `TLS files of ${section}`, everyMs: 60_000, log, work: () => watch.run() }),
  );
}

function measureSmtp(metrics: Metrics, listener: SmtpServer, budget: Budget): void {
  metrics.measured(
    {
      name: 'openhisp_smtp_connections',
      help: 'Connections of other mail servers (limit: smtp.maxConnections).',
    },
    () => listener.connectionCount,
  );
  metrics.measured(
    {
      name: 'openhisp_smtp_receiving_bytes',
      help: 'Memory reserved for messages being received (limit: smtp.maxReceivingBytes).',
    },
    () => budget.used,
  );
}

/** Answers for the hosted domains by DNS and LDAP, where the operator wants that (HOST-01 to HOST-03). */
export async function startPublishing(core: CoreServices, resources: Resources): Promise<void> {
  const { config, trust } = core;
  const { dns, ldap, smtp } = config;
  const mailAddresses = publicAddressesOf(config);
  if (dns.isServing) {
    const publishedLdap = ldap.isServing ? { ldap: { hostname: smtp.hostname, port: ldap.port } } : {};
    const zones = createHostedZones({
      trust,
      mailHostname: smtp.hostname,
      mailAddresses,
      clock: core.clock,
      ...publishedLdap,
    });
    const onError = logSometimes(core, 'a DNS answer failed');
    const onClosed = core.onClosed('dns');
    const open = () => createDnsServer({ host: dns.host, port: dns.port, zones, onError, onClosed });
    resources.keep(await namingListener(listenerOf('dns', dns), open));
  }
  if (ldap.isServing) {
    const publishedKeys = followPublishedKeys(trust, core.clock);
    const findCertificates = async (mail: string) => (await publishedKeys()).findPublished(mail);
    const onError = logSometimes(core, 'an LDAP answer failed');
    const onClosed = core.onClosed('ldap');
    const open = () =>
      createLdapResponder({ host: ldap.host, port: ldap.port, findCertificates, onError, onClosed });
    resources.keep(await namingListener(listenerOf('ldap', ldap), open));
  }
}
