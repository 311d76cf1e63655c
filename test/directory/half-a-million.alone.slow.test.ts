/**
 * A small installation: 500,000 records with street-level coordinates are imported, served and searched while mail flows, and no
 * process of it ever holds 1 GB (docs/capacity.md). Memory is read from `/proc`.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { writeSampleCsv } from '../../bench/directory/import.ts';
import { loadingEnvironment } from '../../bin/node-options.js';
import { createEdgeClient } from '../../src/app/dev/index.ts';
import { startProcessWorld, type HispProcess } from '../processes/world.ts';
import { createTemporaryFolder, endWithTests, waitUntil } from '../support/processes.ts';
import { isPostgres } from '../support/storage.ts';

const records = 500_000;
const megabyte = 1_000_000;
const limitBytes = 1000 * megabyte;
const cli = path.join(import.meta.dirname, 'run-cli.ts');
const skip = isPostgres ? 'its HISPs are on SQLite' : process.platform !== 'linux' && 'needs /proc';

const mb = (bytes: number): string => `${Math.round(bytes / megabyte)} MB`;

/** The most that a process ever held; 0 once it has ended. */
function peakOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Runs `directory import` as an operator does; returns the most memory that it held. */
async function importFile(hisp: HispProcess, dataDir: string, file: string): Promise<number> {
  const child = endWithTests(
    spawn(process.execPath, [cli, 'directory', 'import', file], {
      env: { ...process.env, ...loadingEnvironment, OPENHISP_DATA_DIR: dataDir },
      stdio: ['ignore', 'ignore', 'pipe'],
    }),
  );
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, peakOf(child.pid));
    // Nothing is waited for that has already failed.
    if (Math.max(peak, peakOf(hisp.process.pid)) >= limitBytes) child.kill('SIGKILL');
  }, 50);
  const [code] = (await once(child, 'close')) as [number | null];
  clearInterval(sampling);
  assert.equal(code, 0, `${errors} ${mb(peak)}`);
  return peak;
}

test('half a million records and mail need less than 1 GB', { skip }, async (t) => {
  const folder = await createTemporaryFolder('half-a-million');
  t.after(() => folder.remove());
  const file = path.join(folder.path, 'directory.csv');
  await writeSampleCsv(file, records, { shape: 'street' });
  const world = await startProcessWorld({
    folder: folder.path,
    settings: () => ({ 'directory.requestsPerSecond': '1000', 'directory.recordsPerDay': '10000000' }),
  });
  t.after(() => world.close());
  const { sender, receiver } = world;

  const waiting = new Set<string>();
  let processed = 0;
  world.onNotification(({ eventType, messageId }) => {
    if (eventType === 'message.processed' && waiting.delete(messageId)) processed++;
  });
  const messaging = createEdgeClient(sender.ready, 'messaging.api');
  let isOver = false;
  t.after(() => (isOver = true));
  /** Five messages a second until the work has ended; all of them arrive. */
  async function withMail<R>(work: () => Promise<R>): Promise<R> {
    let isSending = true;
    const sending = sendWhile(() => isSending);
    try {
      return await work();
    } finally {
      isSending = false;
      await sending;
      await waitUntil(() => waiting.size === 0, { timeoutMs: 60_000, what: 'all mail to be processed' });
    }
  }
  async function sendWhile(isWanted: () => boolean): Promise<void> {
    while (isWanted() && !isOver) {
      const { messageId } = (await messaging.post('/messaging/dirmsg/send_ccda', {
        fromDirectAddress: sender.party.address,
        toDirectAddress: receiver.party.address,
        messageBody: 'x'.repeat(10_000),
      })) as { messageId: string };
      waiting.add(messageId);
      await delay(200);
    }
  }
  const served = async (): Promise<number> => (await receiver.inspectDirectory()).recordCount;
  let client = createEdgeClient(receiver.ready, 'provider-directory');
  const search = async (query: string): Promise<number> => {
    const { totalCount } = (await client.get(`/provider-directory/v2/${query}`)) as { totalCount: string };
    return Number(totalCount);
  };
  async function searchAll(): Promise<void> {
    for (const query of [
      'providers?org_state=TX&sort_by=prov_last_name&limit=1000',
      'providers?org_zip=60601&radius=1000&limit=1000',
      'providers?org_name=clinic&prov_spec_text=cardio&limit=1000',
      'suggestions?q=s&limit=50',
      'suggestions?q=cardiolgy+chicago&limit=50',
    ])
      for (let round = 0; round < 20; round++) assert.ok((await search(query)) > 0, query);
  }

  const importPeak = await withMail(() => importFile(receiver, path.join(folder.path, 'receiver'), file));
  await waitUntil(async () => (await served()) > records * 0.9, {
    timeoutMs: 60_000,
    what: 'the directory to be served',
  });
  await withMail(searchAll);
  const servingPeak = peakOf(receiver.process.pid);
  // A restart reads the snapshot.
  await receiver.kill();
  await receiver.start();
  assert.ok((await served()) > records * 0.9);
  client = createEdgeClient(receiver.ready, 'provider-directory');
  await withMail(searchAll);
  const peaks = { import: importPeak, serve: servingPeak, restarted: peakOf(receiver.process.pid) };
  const told = Object.entries(peaks).map(([what, bytes]) => `${what} ${mb(bytes)}`);
  t.diagnostic(`${told.join(', ')}; ${processed} messages processed`);
  assert.ok(
    Object.values(peaks).every((bytes) => bytes > 0 && bytes < limitBytes),
    told.join(', '),
  );
  assert.ok(processed > 20, `${processed} messages`);
});
