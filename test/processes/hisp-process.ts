/** A whole HISP in its own process, which answers questions about what it used and what it holds. */
import { createPrivateKey } from 'node:crypto';
import { flushCompileCache } from 'node:module';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { silentLog } from '../../src/core/index.ts';
import { startHisp } from '../../src/app/server/index.ts';
import { readCertificate } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { openInput } from '../../src/service/directory/index.ts';
import { migrations } from '../../src/platform/storage/baseline/index.ts';
import { createEdgeAccounts } from './hisp-process-edges.ts';
import { nextMigration } from './next-migration.ts';
import { createProfiler } from './profile.ts';
import type { Answer, DirectoryInspection, HispTask, Inspection, Question, Usage } from './protocol.ts';

const task = JSON.parse(process.env['OPENHISP_TEST_TASK'] ?? '') as HispTask;
const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
// A version to come, whose only difference is its schema (test/system/rolling-upgrade.slow.test.ts).
const isNext = process.env['OPENHISP_TEST_NEXT_SCHEMA'] === '1';
const hisp = await startHisp({
  config: loadConfig({}, undefined, task.settings),
  log: silentLog,
  ...(isNext && { migrations: [...migrations, nextMigration] }),
});
if (!(await hisp.trust.isHostedDomain(task.domain))) {
  await hisp.trust.addDomain(task.domain);
  const key = createPrivateKey({ key: bytes(task.privateKey), format: 'der', type: 'pkcs8' });
  await hisp.trust.addKeyPair(task.domain, readCertificate(bytes(task.certificate)).der, key);
  await hisp.trust.addAnchor(task.domain, bytes(task.anchor));
  await hisp.trust.putAddress(parseDirectAddress(task.address), 'active');
}
const client = task.client ?? (await createClient());
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const profiler = createProfiler();

async function createClient(): Promise<NonNullable<HispTask['client']>> {
  const issued = await hisp.oauth.clients.create({
    name: 'edge',
    scopes: ['messaging.api', 'provider-directory'],
    directAddresses: [`@${task.domain}`],
    dataUseAcceptedAt: new Date(),
  });
  await hisp.webhooks.create(issued.clientId, { url: task.webhookUrl });
  if (task.settings['edge.isServing'] === 'true') await createEdgeAccounts(hisp, issued.clientId, task);
  return issued;
}

interface InspectedTables {
  inbox_copy: { message_id: string };
  inbox_message: { id: string; wire_id: string };
  delivery: { id: string };
  inbound_mail: { id: string };
  webhook_notification: { id: string; state: string };
}

async function inspect(): Promise<Inspection> {
  const db = hisp.storage.tables<InspectedTables>();
  const copies = await db
    .selectFrom('inbox_copy as c')
    .innerJoin('inbox_message as m', 'm.id', 'c.message_id')
    .select('m.wire_id')
    .execute();
  const count = async (query: { execute(): Promise<readonly unknown[]> }): Promise<number> =>
    (await query.execute()).length;
  const { eventCount } = await hisp.audit.verifyChain();
  return {
    received: copies.map((row) => row.wire_id),
    auditEvents: eventCount,
    waiting: {
      delivery: await count(db.selectFrom('delivery').select('id')),
      inbound_mail: await count(db.selectFrom('inbound_mail').select('id')),
      webhook_notification: await count(
        db.selectFrom('webhook_notification').select('id').where('state', '=', 'waiting'),
      ),
    },
  };
}

async function load(file: string): Promise<string> {
  try {
    await hisp.directory.importFiles({ files: await openInput(file), kind: 'full' });
    return '';
  } catch (error) {
    return String(error);
  }
}

async function inspectDirectory(): Promise<DirectoryInspection> {
  await hisp.directory.refresh();
  const search = async (...parameters: [string, string][]) => {
    const { json } = await hisp.directory.search([...parameters, ['limit', '1']], {
      client: { clientId: client.clientId, limits: {}, dataUseAcceptedAt: new Date() },
    });
    return JSON.parse(Buffer.from(json).toString()) as {
      totalCount: string;
      providers: { org_name: string }[];
    };
  };
  const all = await search();
  const organization = all.providers[0]?.org_name ?? '';
  const { running } = await hisp.directory.status();
  return {
    recordCount: Number(all.totalCount),
    organization,
    ofOrganization: organization === '' ? 0 : Number((await search(['org_name', organization])).totalCount),
    isLoading: running !== undefined,
  };
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  const longestDelayMs = delay.max / 1e6;
  delay.reset();
  return {
    cpuMs: (user + system) / 1000,
    storage: hisp.storage.counts(),
    longestDelayMs,
    residentBytes: process.memoryUsage.rss(),
  };
}

async function answer(question: Question): Promise<Answer> {
  if (question === 'usage') return { kind: 'usage', usage: usage() };
  if (question === 'inspect') return { kind: 'inspection', inspection: await inspect() };
  if (question === 'inspect-directory') return { kind: 'directory', directory: await inspectDirectory() };
  if (typeof question === 'object') return { kind: 'loaded', problem: await load(question.load) };
  if (question === 'start-profile') await profiler.start();
  if (question === 'stop-profile') return { kind: 'profile', parts: await profiler.stop() };
  if (question === 'close') await hisp.close();
  return { kind: 'done' };
}

process.on('message', (question: Question) => {
  void answer(question).then((said) => {
    process.send?.(said);
    if (question === 'close') process.disconnect();
  });
});
// A process that is killed would not write the cache, and its successor would compile everything again.
flushCompileCache();
const { baseUrl, smtpPort } = hisp;
const { clientId, clientSecret } = client;
process.send?.({ kind: 'ready', ready: { baseUrl, smtpPort, clientId, clientSecret } } satisfies Answer);
