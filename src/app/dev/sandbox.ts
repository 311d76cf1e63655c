import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { quoteForShell, type Closable, type Log } from '../../core/index.ts';
import { openInput } from '../../service/directory/index.ts';
import { writeWorldPorts } from '../doctor/index.ts';
import type { Hisp } from '../server/index.ts';
import { createEdgeClient, type EdgeCredentials } from './edge-client.ts';
import { startPartnerEdge } from './partner-edge.ts';
import { createPlayground } from './playground.ts';
import { ensureClient } from './sandbox-clients.ts';
import {
  demoAddress,
  edgeAddress,
  domains,
  echoAddress,
  loopbackAddresses,
  mailHosts,
  partners,
} from './sandbox-names.ts';
import { ensureEdge, type SandboxEdge } from './sandbox-edges.ts';
import { writeSampleDirectory } from './sample-csv.ts';
import { createWireLog } from './wire/wire-log.ts';
import { ensureAddress, hispFolder, startWorld, type World, type WorldOptions } from './world.ts';

export interface SandboxOptions {
  /** The folder of everything, usually `data/sandbox`. */
  readonly folder: string;
  readonly httpPort: number;
  readonly log: Log;
  /** Called with each step of the first start. */
  readonly onStep?: (text: string) => void;
  /** Settings over those of the sandbox, as for `loadConfig`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Settings of the environment (`OPENHISP_…`). They apply to the sandbox's HISP, not to its partner. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** PostgreSQL databases instead of SQLite files in the folder, as `storage.url`. */
  readonly storageUrls?: WorldOptions['storageUrls'];
}

export interface Sandbox extends Closable {
  readonly world: World;
  readonly credentials: EdgeCredentials;
  /**
   * The console's address with a token that signs in, from this machine, while the sandbox runs; undefined if
   * it is disabled.
   */
  readonly consoleLink: string | undefined;
  /** The account of software that speaks no REST. */
  readonly edge: SandboxEdge;
  /** The file with credentials and addresses. */
  readonly credentialsFile: string;
  /** The data folder of the sandbox's HISP, for `--data-dir`. */
  readonly dataDir: string;
  readonly envFile: string;
  readonly sendFile: string;
  /** True if our HISP's database is in PostgreSQL. */
  readonly isOnPostgres: boolean;
}

/** Short windows and retries, so that every outcome can be watched within a minute. */
const sandboxSettings = {
  'messaging.processedWindowMinutes': '0.25',
  'messaging.dispatchedWindowMinutes': '0.5',
  'delivery.retryMinutes': '0.02,0.05,0.1,0.25',
  'delivery.giveUpHours': '0.02',
  'directory.requestsPerSecond': '1000',
  'directory.requestsBurst': '2000',
  'directory.recordsPerDay': '10000000',
  'console.isServing': 'true',
  // Nothing in it is worth a backup.
  'storage.backupWarningDays': '0',
} as const;

/**
 * One inbound message at the first start, so that the inbox is not empty. The id makes a second start send
 * nothing.
 */
const welcomeId = 'urn:uuid:2f0a6c1e-6d1b-4a53-9f0f-3b1f6f0a7c11';

/** Starts the sandbox: the world, its demo client, its sample directory and its partner's edge. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  let isReady = false;
  let playground: Awaited<ReturnType<typeof createPlayground>> | undefined;
  const wire = createWireLog();
  const world = await startWorld({
    // Clients that wait for readiness then read credentials.json.
    checks: {
      sandbox: async () => {
        if (!isReady) throw new Error('the sandbox is still starting');
      },
    },
    folder: options.folder,
    httpPort: options.httpPort,
    log: options.log,
    wire,
    findPlayground: () => playground,
    servesEdges: true,
    settings: { ...sandboxSettings, ...options.settings },
    ...(options.env && { env: options.env }),
    storageUrls: options.storageUrls ?? {},
  });
  try {
    const sandbox = await seed(world, options);
    playground = await createPlayground({
      client: createEdgeClient(sandbox.credentials),
      wire,
      received: () => world.side.received(),
    });
    isReady = true;
    return sandbox;
  } catch (error) {
    await world.close();
    throw error;
  }
}

async function seed(world: World, options: SandboxOptions): Promise<Sandbox> {
  const { folder, log, onStep = () => {} } = options;
  await ensureAddress(world.hisp, demoAddress);
  await ensureAddress(world.hisp, edgeAddress);
  await ensureAddress(world.partner, partners.processed);
  await ensureAddress(world.partner, partners.dispatched);
  await ensureAddress(world.partner, echoAddress);
  await ensureAddress(world.partner, partners.failed, 'disabled');

  const credentials = await ensureClient({
    hisp: world.hisp,
    file: path.join(folder, 'demo-client.json'),
    name: 'Sandbox demo client',
    directAddresses: [`@${domains.own}`],
  });
  const partnerCredentials = await ensureClient({
    hisp: world.partner,
    file: path.join(folder, 'partner-client.json'),
    name: 'Sandbox partner edge',
    directAddresses: [`@${domains.partner}`],
  });
  await loadSampleDirectory(world, folder, onStep);

  const partnerClient = createEdgeClient(partnerCredentials);
  await ensureWebhook(world.hisp, credentials.clientId, {
    url: `${world.side.baseUrl}/webhook`,
    description: "the sandbox's own receiver",
  });
  const edge = startPartnerEdge({
    client: partnerClient,
    takes: partners.dispatched,
    echoes: echoAddress,
    log,
  });
  world.side.onPartnerMail(edge.look);
  await ensureWebhook(world.partner, partnerCredentials.clientId, {
    url: `${world.side.baseUrl}/partner`,
    description: 'mail of the partner edge',
    eventTypes: ['message.received'],
  });
  const { consoleUrl } = world.hisp;
  const consoleLink = consoleUrl && `${consoleUrl}/#enter=${await openConsole(world)}`;
  await writeSettings(world, hispFolder(folder, 'own'));
  const edgeAccount = await ensureEdge(world.hisp, folder, {
    clientId: credentials.clientId,
    authority: world.authority,
  });
  const files = await writeFiles(folder, { ...credentials, consoleUrl, consoleLink, edge: edgeAccount });
  await partnerClient.post('/messaging/dirmsg/send_ccda', {
    fromDirectAddress: echoAddress,
    toDirectAddress: demoAddress,
    messageId: welcomeId,
    messageSubject: 'Welcome',
    messageBody: 'A first message from the partner HISP of the sandbox, with a referral note.',
    emailAttachmentList: [await referralNote()],
  });
  return {
    world,
    credentials,
    consoleLink,
    edge: edgeAccount,
    ...files,
    isOnPostgres: options.storageUrls?.own !== undefined,
    async close() {
      await edge.close();
      await world.close();
    },
  };
}

/** A link that signs in the sandbox's operator. Returns its token. */
async function openConsole({ hisp: { operators } }: World): Promise<string> {
  const name = 'sandbox';
  const operator = (await operators.store.find(name)) ?? (await operators.store.create(name, 'operator'));
  return operators.signIn.openStandingLink(operator.id);
}

/** Loads the sample directory unless some directory, the sample or an operator's own, is active already. */
async function loadSampleDirectory(
  world: World,
  folder: string,
  onStep: (text: string) => void,
): Promise<void> {
  const { directory } = world.hisp;
  const status = await directory.status();
  if (status.active === undefined) {
    const file = path.join(folder, 'sample-directory.csv');
    onStep('making a sample directory');
    await writeSampleDirectory(file);
    await directory.importFiles({ files: await openInput(file), kind: 'full' });
  }
  await directory.refresh();
}

interface WantedWebhook {
  readonly url: string;
  readonly description: string;
  readonly eventTypes?: readonly string[];
}

/** The port of its receiver may be another one than at the last start. */
async function ensureWebhook({ webhooks }: Hisp, clientId: string, wanted: WantedWebhook): Promise<void> {
  const known = (await webhooks.hooks.list(clientId)).find((one) => one.description === wanted.description);
  if (known === undefined) await webhooks.create(clientId, wanted);
  else if (known.url !== wanted.url || !known.isEnabled)
    await webhooks.update(clientId, known.id, { url: wanted.url, enabled: true });
}

async function referralNote() {
  const note = await readFile(new URL('./data/referral-note.xml', import.meta.url));
  return {
    attachmentClass: 'text/xml',
    attachmentContent: note.toString('base64'),
    attachmentTitle: 'Referral Note',
    attachmentFileName: 'referral-note.xml',
  };
}

/**
 * The settings and ports of this run, so that commands on the HISP's folder, `openhisp doctor` above all, use
 * them too.
 */
async function writeSettings(world: World, dataDir: string): Promise<void> {
  const { smtpPort, dns } = world;
  const settings = {
    http: { port: Number(new URL(world.hisp.baseUrl).port) },
    smtp: {
      hostname: mailHosts.own,
      host: loopbackAddresses.own,
      port: smtpPort,
      peerPort: smtpPort,
      isBehindRelay: true,
    },
    dns: { resolvers: [`127.0.0.1:${dns.port}`] },
    storage: { backupWarningDays: 0 },
    trust: { allowsPrivateTargets: true },
    webhook: { allowsPrivateTargets: true },
  };
  await writeFile(path.join(dataDir, 'config.json'), `${JSON.stringify(settings, null, 2)}\n`, {
    mode: 0o600,
  });
  await writeWorldPorts(dataDir, { smtp: smtpPort, dns: dns.port });
}

interface WrittenCredentials extends EdgeCredentials {
  readonly consoleUrl: string | undefined;
  readonly consoleLink: string | undefined;
  readonly edge: SandboxEdge;
}

async function writeFiles(folder: string, credentials: WrittenCredentials) {
  const credentialsFile = path.join(folder, 'credentials.json');
  const envFile = path.join(folder, 'env.sh');
  const sendFile = path.join(folder, 'send.json');
  const { baseUrl, clientId, clientSecret, consoleUrl, consoleLink, edge } = credentials;
  const dataDir = path.resolve(hispFolder(folder, 'own'));
  const content = {
    baseUrl,
    clientId,
    clientSecret,
    fromDirectAddress: demoAddress,
    dataDir,
    consoleUrl,
    consoleLink,
    partners,
    edge,
  };
  await writeFile(credentialsFile, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  // Exported, because the programs of docs/guide.md read them from their environment.
  const variables = {
    BASE_URL: baseUrl,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    FROM: demoAddress,
    TO: partners.processed,
    EDGE_USER: edge.username,
    EDGE_PASSWORD: edge.password,
    EDGE_CA: edge.caFile,
  };
  await writeFile(
    envFile,
    Object.entries(variables)
      .map(([name, value]) => `export ${name}=${quoteForShell(value)}\n`)
      .join(''),
    { mode: 0o600 },
  );
  const message = {
    fromDirectAddress: demoAddress,
    toDirectAddress: partners.processed,
    messageSubject: 'Referral',
    messageBody: 'Please see the attached referral note.',
    emailAttachmentList: [await referralNote()],
  };
  await writeFile(sendFile, `${JSON.stringify(message, null, 2)}\n`);
  return { credentialsFile, dataDir, envFile, sendFile };
}
