import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { collectLines } from '../../../test/support/collect-lines.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock, silentLog } from '../../core/index.ts';
import { createVault, loadConfig } from '../../platform/index.ts';
import { createAudit, type AuditOutcome } from '../../service/audit/index.ts';
import { readBackupState } from './backup-state.ts';
import { createBackupWatch } from './watch-backups.ts';

const dayMs = 86_400_000;

async function start(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const clock = createManualClock(new Date('2026-06-01T00:00:00Z'));
  const storage = await openTestStorage();
  t.after(() => storage.close());
  const audit = createAudit({ storage, vault: createVault(Buffer.alloc(32, 1)), clock, log: silentLog });
  t.after(() => audit.close());
  const { log, lines } = collectLines();
  const config = loadConfig({}, undefined, { dataDir: 'data', ...settings });
  const watch = createBackupWatch({ config, storage, clock, log });
  await audit.recordNow({ action: 'installation.create', outcome: 'ok' });
  return {
    watch,
    lines,
    async after(days: number) {
      clock.advance(days * dayMs);
      await watch.run();
      return watch.degraded().map(({ part, detail }) => `${part}: ${detail}`);
    },
    backUp: (outcome: AuditOutcome) => audit.recordNow({ action: 'backup.write', outcome }),
    read: () => readBackupState({ config, storage, clock }),
  };
}

test('an installation that is not backed up is a warning after three days, once per day, until it is', async (t) => {
  const { after, backUp, lines, read } = await start(t);
  assert.equal((await read())?.text, 'The database has never been backed up.');
  assert.deepEqual(await after(2), []);
  assert.deepEqual(await after(1.5), [
    'backup: The database has never been backed up in the 3 days since its installation.',
  ]);
  await after(0.5);
  assert.deepEqual(lines, [
    'error The database has never been backed up in the 3 days since its installation.',
  ]);
  await backUp('ok');
  assert.deepEqual(await after(0), []);
});

test('backups that stop are a warning that says since when', async (t) => {
  const { after, backUp, lines, read } = await start(t);
  for (let night = 0; night < 10; night += 1) {
    assert.deepEqual(await after(1), []);
    await backUp('ok');
  }
  assert.deepEqual(await after(2.9), []);
  assert.deepEqual(await after(0.2), ['backup: The last backup of the database was made 3 days ago.']);
  assert.equal(lines.length, 1);
  assert.equal((await read())?.ageMs, 3.1 * dayMs);
});

test('a failed backup is a warning at once, and an error when the one before it is old', async (t) => {
  const { after, backUp, lines } = await start(t);
  await backUp('ok');
  await after(1);
  await backUp('failed');
  const failed =
    'The last backup of the database was made 1 day ago; an attempt failed at 2026-06-02T00:00Z.';
  assert.deepEqual(await after(0), [`backup: ${failed}`]);
  await after(3);
  assert.deepEqual(lines, [
    `warn ${failed}`,
    'error The last backup of the database was made 4 days ago; an attempt failed at 2026-06-02T00:00Z.',
  ]);
  await backUp('ok');
  assert.deepEqual(await after(1), []);
});

test('nothing is said of a database that is backed up by other means', async (t) => {
  for (const settings of [
    { 'storage.backupWarningDays': '0' },
    { 'storage.url': 'postgres://db.example.org/openhisp' },
  ]) {
    const { after, read } = await start(t, settings);
    assert.deepEqual(await after(100), []);
    assert.equal(await read(), undefined);
  }
});
