/** A destination is put on hold while the database is away: whoever asks is told, and afterwards the state is what was told. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createProgram } from '../../src/app/cli/create-program.ts';
import { createCliContext } from '../../src/app/cli/context.ts';
import type { NamedInstallation } from '../../src/app/cli/find-installation.ts';
import { errorText } from '../../src/core/index.ts';
import { advisoryKey } from '../../src/platform/storage/postgres/advisory-keys.ts';
import { startPostgres } from '../support/postgres.ts';
import { createDatabaseAt, needsBothEngines } from '../support/storage.ts';
import { timeScale } from '../support/time-scale.ts';
import { waitFor } from '../system/sandbox-fixture.ts';
import { openAdminWorld, type AdminWorld } from './admin-world.ts';

const { skip } = needsBothEngines();
let postgres: Awaited<ReturnType<typeof startPostgres>>;
let url: string;
let world: AdminWorld;

before(async () => {
  if (skip !== false) return;
  postgres = await startPostgres();
  url = await createDatabaseAt(postgres, 'own');
  world = await openAdminWorld({ 'storage.busyTimeoutMs': '1000' }, { own: url });
});
after(async () => {
  await world?.close();
  await postgres?.stop();
});

interface QueueItem {
  readonly domain: string;
  readonly hold: { readonly reason: string } | null;
}

async function listHeld(): Promise<string[]> {
  const { body } = await world.call<{ result: QueueItem[] }>('operator', 'GET', '/queue');
  return body.result.flatMap(({ domain, hold }) => (hold === null ? [] : [`${domain}: ${hold.reason}`]));
}

async function countAudited(): Promise<number> {
  const { body } = await world.call<{ result: unknown[] }>(
    'auditor',
    'GET',
    '/audit?action=queue.hold&limit=100',
  );
  return body.result.length;
}

const holdBy = (domain: string, reason: string) =>
  world.call('operator', 'POST', '/queue/actions', {
    action: 'hold',
    destinations: [domain],
    reason,
    preview: false,
  });

async function command(...words: string[]): Promise<{ text: string; exitCode: number }> {
  const named: NamedInstallation = {};
  let text = '';
  const write = (some: string): void => void (text += some);
  const target: Parameters<typeof createCliContext>[0] = {
    env: {
      OPENHISP_DATA_DIR: world.sandbox.dataDir,
      OPENHISP_STORAGE_URL: url,
      OPENHISP_OPERATOR: 'test',
    },
    stdout: { write },
    stderr: { write },
  };
  const program = await createProgram(createCliContext(target, named), named, words[0]);
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    return { text: text + errorText(error), exitCode: 1 };
  }
  return { text, exitCode: Number(target.exitCode ?? 0) };
}

test(
  'a hold asked for while the database is away is refused in time, is not set later, and can be set when it is back',
  { skip },
  async () => {
    const startedAt = performance.now();
    const back = postgres.restart('fast', 6_000);
    await waitFor(
      () => holdBy('away.example', 'by the API'),
      ({ status }) => status === 503,
    );
    const { text, exitCode } = await command('queue', 'hold', 'away.example', '--reason', 'by the command');
    assert.equal(exitCode, 1);
    assert.match(text, /PostgreSQL|database/i);
    assert.doesNotMatch(text, /is on hold/);
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 30_000 * timeScale(), `${tookMs} ms`);
    await back;
    await waitFor(
      () => world.call('operator', 'GET', '/queue'),
      ({ status }) => status === 200,
    );
    // The first requests may have come before the server was gone: each has its row, none is set without one.
    assert.equal((await listHeld()).length, Math.min(1, await countAudited()));
    const audited = await countAudited();
    const answer = await waitFor(
      () => holdBy('away.example', 'when it was back'),
      ({ status }) => status === 200,
    );
    assert.equal(answer.status, 200);
    assert.deepEqual(await listHeld(), ['away.example: when it was back']);
    assert.equal(await countAudited(), audited + 1);
    const shown = await command('queue', 'list', '--json');
    assert.match(shown.text, /when it was back/);
  },
);

test('a hold whose audit row cannot be written is not set', { skip }, async () => {
  const [held, count] = [await listHeld(), await countAudited()];
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Whoever appends to the audit trail waits for this, until its time is over.
  await client.query('select pg_advisory_lock($1)', [advisoryKey('collector', 'audit')]);
  const answer = await holdBy('unaudited.example', 'nobody would know who');
  await client.end();
  assert.equal(answer.status, 503);
  assert.deepEqual(await listHeld(), held);
  assert.equal(await countAudited(), count);
});
