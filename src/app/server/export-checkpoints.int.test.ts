import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { createMigratedDatabase } from '../../../test/support/storage.ts';
import { createManualClock, silentLog } from '../../core/index.ts';
import { createGuardedFetch } from '../../lib/fetch/index.ts';
import { createVault, loadConfig } from '../../platform/index.ts';
import { AuditError, createAudit } from '../../service/audit/index.ts';
import { createCheckpointExport } from './export-checkpoints.ts';

async function startReceiver(t: TestContext) {
  const received: string[] = [];
  const state = { status: 204 };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (state.status === 204) received.push(body);
      response.writeHead(state.status).end();
    });
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return { received, state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/audit` };
}

async function startExport(t: TestContext, url?: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-export-'));
  const database = await createMigratedDatabase();
  const storage = await database.open();
  await storage.migrate();
  const config = loadConfig({
    OPENHISP_DATA_DIR: folder,
    ...(url === undefined ? {} : { OPENHISP_AUDIT_CHECKPOINT_URL: url }),
  });
  const clock = createManualClock(new Date('2026-05-01T00:00:00Z'));
  const vault = createVault(randomBytes(32));
  const logged: string[] = [];
  const log = {
    ...silentLog,
    info: (fields: Readonly<Record<string, unknown>>) => void logged.push(String(fields['statement'])),
    warn: (_fields: unknown, text: string) => void logged.push(text),
  };
  const audit = createAudit({ storage, vault, clock, log });
  t.after(async () => {
    await audit.close();
    await storage.close();
    rmSync(folder, { recursive: true, maxRetries: 5 });
  });
  const post = createGuardedFetch({ timeoutMs: 5000, maxBytes: 10_000, allowPrivate: true });
  const open = () => createCheckpointExport({ config, storage, audit, log, clock, post });
  const file = config.audit.checkpointFile;
  const kept = (): readonly string[] => readFileSync(file, 'utf8').trim().split('\n');
  return { database, storage, audit, clock, logged, file, kept, open };
}

test('in each interval the end of the chain is written to file, log and receiver if it has changed', async (t) => {
  const receiver = await startReceiver(t);
  const { audit, clock, logged, kept, open } = await startExport(t, receiver.url);
  const exporter = open();
  await exporter.run();
  await exporter.run();
  assert.equal(kept().length, 1);
  await audit.recordNow({ action: 'a', outcome: 'ok' });
  await exporter.run();
  assert.equal(kept().length, 1);
  clock.advance(300_000);
  await exporter.run();
  await audit.recordNow({ action: 'a', outcome: 'ok' });
  // The last thing before the service stops.
  await exporter.finish();
  assert.equal(kept().length, 3);
  assert.deepEqual(logged, kept());
  assert.deepEqual(receiver.received.slice(-2), kept().slice(-2));
  assert.equal((await audit.verifyChain(kept())).coveredTo, 3);
  assert.deepEqual(exporter.degraded(), []);
});

test('a receiver that fails gets the checkpoint later, and readiness reports it', async (t) => {
  const receiver = await startReceiver(t);
  const { audit, clock, kept, open } = await startExport(t, receiver.url);
  const exporter = open();
  await exporter.run();
  receiver.state.status = 500;
  await audit.recordNow({ action: 'a', outcome: 'ok' });
  clock.advance(300_000);
  await assert.rejects(exporter.run(), /answered 500/);
  assert.equal(kept().length, 2);
  assert.match(exporter.degraded()[0]?.detail ?? '', /answered 500/);
  receiver.state.status = 204;
  await exporter.run();
  assert.equal(receiver.received.at(-1), kept().at(-1));
  assert.deepEqual(exporter.degraded(), []);
});

test('a database that is older than the file is reported within one interval', async (t) => {
  const { database, audit, kept, open, clock } = await startExport(t);
  const exporter = open();
  await exporter.run();
  await audit.recordNow({ action: 'a', outcome: 'ok' });
  clock.advance(300_000);
  await exporter.run();
  await database.runRaw(`update audit_checkpoint set statement = '${kept()[0] ?? ''}'`);
  await database.runRaw(
    'drop trigger audit_event_kept' + (database.location.url === undefined ? '' : ' on audit_event'),
  );
  await database.runRaw('delete from audit_event where sequence = 2');
  const isBroken = (error: unknown): boolean =>
    error instanceof AuditError && error.code === 'AUDIT_CHAIN_BROKEN';
  await assert.rejects(exporter.run(), isBroken);
  assert.equal(exporter.degraded()[0]?.part, 'audit');
});

test('a file whose last checkpoint was cut is named, and goes on once that line is removed', async (t) => {
  const { audit, file, kept, open, clock } = await startExport(t);
  const exporter = open();
  await exporter.run();
  const [whole = ''] = kept();
  writeFileSync(file, whole.slice(0, 100));
  await audit.recordNow({ action: 'a', outcome: 'ok' });
  clock.advance(300_000);
  await assert.rejects(
    exporter.run(),
    (error) => error instanceof AuditError && error.message.includes(file),
  );
  assert.ok(exporter.degraded()[0]?.detail.includes(file));
  writeFileSync(file, '');
  await exporter.run();
  assert.equal((await audit.verifyChain(kept())).coveredTo, 2);
  assert.deepEqual(exporter.degraded(), []);
});

test('a database without a key next to a file of checkpoints is refused', async (t) => {
  const { file, open } = await startExport(t);
  writeFileSync(file, 'ey\n');
  await assert.rejects(
    open().run(),
    (error) => error instanceof AuditError && error.code === 'AUDIT_CHAIN_RESET',
  );
});
