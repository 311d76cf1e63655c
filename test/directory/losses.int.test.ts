/** Damaged inputs: a load that would lose much of its source is refused, by each way to load, until the loss is accepted. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { createLog, createMetrics, loadConfig } from '../../src/platform/index.ts';
import { registerGauges } from '../../src/app/server/register-gauges.ts';
import { createUpkeepWatch } from '../../src/app/server/watch-upkeep.ts';
import { openInput, readReport, scheduleSource } from '../../src/service/directory/index.ts';
import { runSchedules } from '../../src/service/directory/jobs/schedule.ts';
import { startTestDirectory, testGazetteer, toCsv, type TestDirectory } from './start-directory.ts';

let world: TestDirectory;
beforeEach(async () => {
  world = await startTestDirectory({ pollIntervalMs: 60_000 });
});
afterEach(() => world.close());

const firstRow = 1;
type Row = Record<string, string>;
const rowsOf = (count: number, from = firstRow): Row[] =>
  Array.from({ length: count }, (_, at) => ({ serv_direct_addr: `p${from + at}@d.example` }));
const broken = (rows: readonly Row[], from: number): Row[] =>
  rows.map((row, at) => (at < from ? row : { serv_direct_addr: 'no address' }));

/** As an operator who accepts no loss. */
const careful = { acceptLoss: false };
const whole = rowsOf(1000);
const tooManyLost = { code: 'DIRECTORY_TOO_MANY_LOST' };
const tooManyRefused = { code: 'DIRECTORY_TOO_MANY_REFUSED' };

async function countServed(): Promise<number | undefined> {
  await world.directory.refresh();
  return (await world.directory.status()).served?.recordCount;
}

test('the rest of a damaged file does not replace a source until its loss is accepted', async () => {
  await world.load(toCsv(whole), 'full', careful);
  await assert.rejects(world.load(toCsv(broken(whole, 10)), 'full', careful), tooManyRefused);
  await assert.rejects(world.load(toCsv(rowsOf(899)), 'full', careful), {
    ...tooManyLost,
    message: /^101 of the 1000 records of the source would be removed, more than 10 %; /,
  });
  assert.equal(await countServed(), 1000);
  const report = await readReport(world.storage);
  assert.deepEqual([report.loaded, report.removed, report.recordCount], [899, 101, 0], 'the report is kept');
  assert.equal((await world.load(toCsv(rowsOf(899)), 'full', { acceptLoss: true })).removed, 101);
  assert.equal(await countServed(), 899);
});

for (const { name, before, after } of [
  { name: 'a tenth of a large source', before: 1000, after: 900 },
  { name: '99 records of a small source', before: 110, after: 11 },
  { name: 'a source that grows', before: 10, after: 2000 },
])
  test(`${name} may go`, async () => {
    await world.load(toCsv(rowsOf(before)), 'full', careful);
    assert.equal((await world.load(toCsv(rowsOf(after)), 'full', careful)).recordCount, after);
  });

for (const { name, rows, why } of [
  { name: 'other keys', rows: rowsOf(1000, 5001), why: tooManyLost },
  { name: 'one address in all rows', rows: rowsOf(1000).map(() => whole[0] as Row), why: tooManyRefused },
  {
    name: 'ten-digit numbers cut to nine',
    rows: whole.map((row) => ({ ...row, prov_npi: '123456789' })),
    why: tooManyRefused,
  },
  { name: 'a header and one row', rows: rowsOf(1), why: tooManyLost },
  {
    name: 'a NPI that came into all keys',
    rows: whole.map((row) => ({ ...row, prov_npi: '1234567893' })),
    why: tooManyLost,
  },
  { name: 'half of the rows twice', rows: [...rowsOf(500), ...rowsOf(500)], why: tooManyRefused },
])
  test(`a full load with ${name} is refused`, async () => {
    await world.load(toCsv(whole), 'full', careful);
    await assert.rejects(world.load(toCsv(rows), 'full', careful), why);
    assert.equal(await countServed(), 1000);
  });

test('a column that would be blank is refused like lost records, until that is accepted', async () => {
  const filled = whole.map((row, at): Row => ({
    ...row,
    org_name: `Clinic ${at}`,
    org_phone: at < 90 ? '617-555-0100' : '',
  }));
  const blanked = (from: number): Row[] =>
    filled.map((row, at) => (at < from ? row : { ...row, org_name: '' }));
  await world.load(toCsv(filled), 'full', careful);
  await world.load(toCsv(rowsOf(1, 5001)), 'incremental', careful);
  const withoutColumn = filled.map((row) => row['serv_direct_addr']).join('\n');
  for (const csv of [toCsv(blanked(0)), `serv_direct_addr\n${withoutColumn}\n`])
    await assert.rejects(world.load(csv, 'full', careful), {
      ...tooManyLost,
      message: /^org_name would be blank in 1000 more of the 1001 records of the source, more than 10 %; /,
    });
  await assert.rejects(world.load(toCsv(blanked(890)), 'full', careful), tooManyLost);
  assert.equal((await world.search({ org_name: 'Clinic' })).body.totalCount, '1000');
  // Few phones are no tenth of the source.
  await world.load(toCsv(blanked(905).map((row) => ({ ...row, org_phone: '' }))), 'full', careful);
  await world.load(toCsv(blanked(0)), 'full', { acceptLoss: true });
  await world.load(toCsv(blanked(0)), 'full', careful);
});

test('another source does not count: its records are neither lost nor a measure', async () => {
  await world.load(toCsv(whole), 'full', { ...careful, sourceName: 'large' });
  await world.load(toCsv(rowsOf(200, 5001)), 'full', { ...careful, sourceName: 'small' });
  await assert.rejects(
    world.load(toCsv(rowsOf(90, 5001)), 'full', { ...careful, sourceName: 'small' }),
    tooManyLost,
  );
  assert.equal(await countServed(), 1200);
});

test('faulty rows that were accepted once are not refused again, and more of them are', async () => {
  const faulty = (count: number) => toCsv(broken(whole, 1000 - count));
  await assert.rejects(world.load(faulty(80), 'full', careful), {
    ...tooManyRefused,
    message: /^8 % of the rows are refused, more than 5 %; /,
  });
  await world.load(faulty(80), 'full', { acceptLoss: true });
  await world.load(faulty(80), 'full', careful);
  await world.load(toCsv(rowsOf(1, 2001)), 'incremental', careful);
  await world.load(faulty(85), 'full', careful);
  await world.load(faulty(89), 'full', careful);
  await assert.rejects(world.load(faulty(100), 'full', careful), tooManyRefused);
});

test('a limit that is named holds in both kinds of loads, although loss is accepted', async () => {
  const half = toCsv(broken(rowsOf(10), 5));
  const limits = (maxRefusedShare: number) => ({ maxRefusedShare, acceptLoss: true });
  for (const kind of ['full', 'incremental'] as const) {
    await assert.rejects(world.load(half, kind, limits(0.4)), tooManyRefused);
    assert.equal((await world.load(half, kind, { ...careful, maxRefusedShare: 0.5 })).refusedRows, 5);
  }
});

test('an increment removes what it names', async () => {
  await world.load(toCsv(whole), 'full', careful);
  const removals = toCsv(
    rowsOf(300).map((row) => ({ ...row, action: 'remove' })),
    ['action'],
  );
  assert.equal((await world.load(removals, 'incremental', careful)).removed, 300);
});

test('the command prints the report of a load that it refuses, and loads it with --accept-loss', async () => {
  const file = path.join(world.folder, 'providers.csv');
  await world.load(toCsv(whole), 'full', careful);
  await writeFile(file, toCsv(broken(whole, 10)));
  const run = (...flags: string[]) =>
    new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
      const { url, file: database = '' } = world.database.location;
      const storage = url === undefined ? { OPENHISP_STORAGE_FILE: database } : { OPENHISP_STORAGE_URL: url };
      const env = { ...process.env, ...storage, OPENHISP_DATA_DIR: world.folder };
      const script = path.join(import.meta.dirname, 'run-cli.ts');
      execFile(
        process.execPath,
        [script, 'directory', 'import', file, ...flags],
        { env },
        (error, out, err) => resolve({ code: error?.code ?? 0, out, err }),
      );
    });
  const refused = await run();
  assert.equal(refused.code, 1);
  assert.match(refused.out, /1000 rows read, 10 loaded .* 990 removed, 990 refused/);
  assert.match(refused.out, /direct_address_invalid: 990/);
  assert.match(refused.err, /99 % of the rows are refused, more than 5 %.*--accept-loss/);
  assert.equal(await countServed(), 1000);
  assert.equal((await run('--accept-loss')).code, 0);
  assert.equal(await countServed(), 10);
});

test('a schedule keeps the old generation and warns: status, log, readiness, gauges', async () => {
  const file = path.join(world.folder, 'county.csv');
  const put = async (rows: readonly Row[], minutesAgo: number): Promise<void> => {
    await writeFile(file, toCsv(rows));
    const at = new Date(Date.now() - minutesAgo * 60_000);
    await utimes(file, at, at);
  };
  const lines: string[] = [];
  const log = createLog({ level: 'info', isReadable: false, write: (line) => lines.push(line) });
  const { storage, clock, folder: dataDir } = world;
  const trust = { listBundles: async () => [] };
  const watch = createUpkeepWatch({ storage, trust });
  const metrics = createMetrics();
  registerGauges({ config: loadConfig({}, undefined, { dataDir }), storage, trust, clock, metrics });
  const gauge = async (name: string): Promise<string | undefined> =>
    new RegExp(`^openhisp_directory_source_${name}\\{source="county"\\} (\\S+)$`, 'm').exec(
      await metrics.text(),
    )?.[1];
  const context = { ...world, log, gazetteer: testGazetteer() };
  await scheduleSource(world, 'county', { path: file, everyMs: 3_600_000 });
  await put(whole, 30);
  assert.deepEqual(await runSchedules(context), ['county']);
  await watch.run();
  assert.deepEqual(watch.degraded(), []);
  assert.equal(await gauge('failing'), '0');
  await put(broken(whole, 10), 20);
  clock.advance(3_600_000);
  assert.deepEqual(await runSchedules(context), []);
  assert.equal(await countServed(), 1000);
  const [source] = (await world.directory.status()).sources;
  assert.match(source?.schedule?.failure ?? '', /^99 % of the rows are refused/);
  assert.match(lines.join(''), /a scheduled directory load failed/);
  await watch.run();
  assert.match(
    watch.degraded()[0]?.detail ?? '',
    /^The scheduled load of county failed; 1000 records stay: 99 %/,
  );
  assert.deepEqual(
    [await gauge('failing'), await gauge('records'), await gauge('age_seconds')],
    ['1', '1000', '3600'],
  );
  // The operator has seen the report, and the file is what the source is from now on.
  await world.directory.importFiles({
    files: await openInput(file),
    kind: 'full',
    sourceName: 'county',
    acceptLoss: true,
  });
  clock.advance(3_600_000);
  assert.deepEqual(await runSchedules(context), ['county']);
  await watch.run();
  assert.deepEqual(watch.degraded(), []);
});
