/** Damaged inputs: a load that would lose much of its source is refused, by each way to load, until the loss is accepted. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { createLog, createMetrics, loadConfig } from '../../src/platform/index.ts';
import { registerGauges } from '../../src/app/server/register-gauges.ts';
import { createUpkeepWatch } from '../../src/app/server/watch-upkeep.ts';
import { formatReport, openInput, readReport, scheduleSource } from '../../src/service/directory/index.ts';
import { runSchedules } from '../../src/service/directory/jobs/schedule.ts';
import { openReleaseFolder } from '../../src/service/directory/load/npd/open-release.ts';
import { endpoint, practitioner, role, to, writeLines } from './npd/release-files.ts';
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
  const text = formatReport(report).join('\n');
  assert.match(text, /, 899 to load \(.*\), 101 to be removed, 0 refused\nThe directory is unchanged\.$/m);
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

test('an increment removes what it names, many of them only if that is accepted', async () => {
  await world.load(toCsv(whole), 'full', careful);
  const removals = (from: number, to: number): string =>
    toCsv(
      whole.slice(from, to).map((row) => ({ ...row, action: 'remove' })),
      ['action'],
    );
  // What a program writes that compared its data with an empty file.
  await assert.rejects(world.load(removals(0, 1000), 'incremental', careful), {
    ...tooManyLost,
    message: /^1000 of the 1000 records of the source would be removed, /,
  });
  assert.equal((await world.load(removals(0, 99), 'incremental', careful)).removed, 99);
  assert.equal((await world.load(removals(99, 300), 'incremental', { acceptLoss: true })).removed, 201);
  assert.equal(await countServed(), 700);
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
  assert.match(refused.out, /1000 rows read, 10 to load .* 990 to be removed, 990 refused/);
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

/** A source as it is, and what other programs, servers and people made of such files. */
const header = 'serv_direct_addr,prov_npi,prov_last_name,org_city,org_state,org_zip';
const npiOf = (at: number): string => String(1_234_500_000 + at);
const lineOf = (at: number): string => `p${at}@d.example,${npiOf(at)},Sample ${at},Albany,NY,12207`;
const lines = Array.from({ length: 1000 }, (_, at) => lineOf(at));
const file = (rows: readonly string[], head = header): string => `${head}\n${rows.join('\n')}\n`;
const good = file(lines);
const each = (change: (line: string, at: number) => string): string => file(lines.map(change));
const field = (place: number, change: (text: string, at: number) => string) =>
  each((line, at) =>
    line
      .split(',')
      .map((text, index) => (index === place ? change(text, at) : text))
      .join(','),
  );

const tooBroken = { code: 'DIRECTORY_FILE_BROKEN' };
const unknownFormat = { code: 'DIRECTORY_FORMAT_UNKNOWN' };

const damages: Readonly<Record<string, readonly [string | Buffer, object]>> = {
  'no rows: the upstream answered with nothing': [file([]), tooManyRefused],
  'no bytes': ['', tooBroken],
  'an empty line': ['\n', tooBroken],
  'a sign-in page in place of the file': [
    '<!DOCTYPE html>\n<html><body>Sign in</body></html>\n',
    unknownFormat,
  ],
  'an error as JSON': ['{"error":"rate limited","status":429}\n', unknownFormat],
  'a listing of a folder': ['-rw-r--r-- 1 root root 120 providers.csv\n', unknownFormat],
  'a size limit of 500 rows': [file(lines.slice(0, 500)), tooManyLost],
  'the first page alone': [file(lines.slice(0, 100)), tooManyLost],
  'a page twice in place of the next one': [
    file([...lines.slice(0, 500), ...lines.slice(0, 500)]),
    tooManyRefused,
  ],
  'a transfer that ended within a row': [good.slice(0, good.length - 30), tooBroken],
  'a transfer that ended between two rows': [file(lines.slice(0, 880)), tooManyLost],
  'a query that failed in the middle': [
    file([...lines.slice(0, 600), 'ERROR: connection lost']),
    tooManyLost,
  ],
  'one address in all rows': [field(0, () => 'p0@d.example').replace(/,[0-9]{10},/g, ',,'), tooManyRefused],
  'the NPIs cut to nine digits': [field(1, (text) => text.slice(1)), tooManyRefused],
  'the file of another tenant': [each((_, at) => lineOf(at + 5000)), tooManyLost],
  'an increment taken for the whole': [file(lines.slice(0, 12)), tooManyLost],
  'a test file': [file(['test@d.example,,Test,,,']), tooManyLost],
  'the NPIs as a spreadsheet rounds them': [field(1, () => '1.2345E+09'), tooManyRefused],
  'the NPIs gone, and with them all keys': [field(1, () => ''), tooManyLost],
  'the NPI of one person in all rows': [field(1, () => npiOf(1)), tooManyLost],
  'the NPIs moved down by a row': [field(1, (_, at) => npiOf(at + 1)), tooManyLost],
  'the columns moved by a comma in a name': [field(2, (text) => text.replace(' ', ', ')), tooManyRefused],
  'the first two columns changed': [
    each((line) => line.replace(/^([^,]*),([^,]*)/, '$2,$1')),
    tooManyRefused,
  ],
  'other delimiters in the rows than in the header': [
    `${header}\n${lines.map((line) => line.replaceAll(',', ';')).join('\n')}\n`,
    tooManyRefused,
  ],
  'a column of another name': [file(lines, header.replace('prov_npi', 'npi')), unknownFormat],
  'no header': [`${lines.join('\n')}\n`, unknownFormat],
  'a null in place of each address': [field(0, () => 'NULL'), tooManyRefused],
  'user names in place of addresses': [field(0, (text) => text.replace(/@.*/, '')), tooManyRefused],
  'names in Windows-1252': [
    Buffer.from(
      field(2, (text) => `${text} Núñez`),
      'latin1',
    ),
    tooManyRefused,
  ],
  'UTF-16': [Buffer.from(`\ufeff${good}`, 'utf16le'), tooBroken],
  'line ends of an old Macintosh': [good.replaceAll('\n', '\r'), tooBroken],
  'rows that all say remove': [
    file(
      lines.map((line) => `${line},remove`),
      `${header},action`,
    ),
    tooManyRefused,
  ],
  'a quote that is never closed in each row': [each((line) => line.replace('Sample', '"Sample')), tooBroken],
  'the states and ZIP codes of none': [field(4, () => '#N/A').replaceAll('12207', '#REF!'), tooManyLost],
  'the names of none': [field(2, () => 'null'), tooManyLost],
  'a domain that was renamed in all addresses': [good.replaceAll('@d.example', '@new.example'), tooManyLost],
};

const harmless: Readonly<Record<string, string>> = {
  'other letters in the addresses': good.replaceAll('@d.example', '@D.EXAMPLE'),
  'blanks around the values': good.replaceAll(',', ' , '),
  'semicolons throughout': good.replaceAll(',', ';'),
  'a mark at the beginning and line ends of Windows': `\ufeff${good.replaceAll('\n', '\r\n')}`,
  'quotes around each value': good.replace(/[^,\n]+/g, '"$&"'),
  'another order of rows': file(lines.toReversed()),
  'another order of columns': file(
    lines.map((line) => line.split(',').toReversed().join(',')),
    header.split(',').toReversed().join(','),
  ),
  'a line that counts the rows': file([...lines, '1000 rows,,,,,']),
  'a few rows twice': file([...lines, ...lines.slice(0, 20)]),
  'the file of the day before, with fewer people': file(lines.slice(0, 950)),
};

test('what replaces a whole source and is damaged is refused, and says why', async () => {
  await world.load(good, 'full', careful);
  for (const [name, [content, why]] of Object.entries(damages)) {
    await assert.rejects(world.load(content as string, 'full', careful), why, name);
    assert.equal(await countServed(), 1000, name);
  }
  assert.equal((await world.search({ prov_npi: npiOf(7), org_zip: '12207' })).body.totalCount, '1');
});

test('what is only written otherwise loads without a question', async () => {
  await world.load(good, 'full', careful);
  for (const [name, content] of Object.entries(harmless)) {
    const report = await world.load(content, 'full', careful);
    assert.ok(report.recordCount >= 950 && report.removed <= 50, `${name}: ${JSON.stringify(report)}`);
  }
});

const mainHeader =
  'NPI,Entity Type Code,Provider Last Name (Legal Name),NPI Deactivation Date,NPI Reactivation Date';
const endpointHeader = 'NPI,Endpoint Type,Endpoint';

test('a weekly NPPES file that loses many addresses is refused until that is accepted', async () => {
  const load = async (
    npis: readonly number[],
    endpoints: readonly number[],
    kind: 'full' | 'incremental',
    more: { acceptLoss?: boolean; deactivated?: string } = {},
  ) => {
    const files = [];
    for (const [name, head, rows] of [
      ['npidata_pfile.csv', mainHeader, npis.map((at) => `${npiOf(at)},1,Sample,${more.deactivated ?? ''},`)],
      ['endpoint_pfile.csv', endpointHeader, endpoints.map((at) => `${npiOf(at)},DIRECT,p${at}@n.example`)],
    ] as const) {
      const target = path.join(world.folder, name);
      await writeFile(target, file(rows, head));
      files.push(...(await openInput(target)));
    }
    return world.directory.importFiles({
      files,
      kind,
      sourceName: 'nppes',
      acceptLoss: more.acceptLoss ?? false,
    });
  };
  const all = Array.from({ length: 1000 }, (_, at) => at);
  const week = all.slice(0, 150);
  await load(all, all, 'full');
  // The endpoint file of a week has all endpoints of its NPIs, so that those it lacks are gone.
  await assert.rejects(load(week, [], 'incremental'), {
    ...tooManyLost,
    message:
      /^150 of the 1000 records of the source would be removed, more than 10 %; the directory stays as it is\. .*--accept-loss/,
  });
  assert.equal(await countServed(), 1000);
  const report = await load(week, week.slice(60), 'incremental');
  assert.deepEqual(
    [report.removed, await countServed()],
    [60, 940],
    'fewer than a tenth go without a question',
  );
  await assert.rejects(load(all, week, 'full'), tooManyLost);
  assert.equal((await load(week, [], 'incremental', { acceptLoss: true })).removed, 90);
  assert.equal(await countServed(), 850);
  const gone = all.slice(200, 400);
  const deactivated = { deactivated: '05/01/2026' };
  await assert.rejects(load(gone, gone, 'incremental', deactivated), tooManyLost);
  const accepted = await load(gone, gone, 'incremental', { ...deactivated, acceptLoss: true });
  assert.deepEqual([accepted.removed, await countServed()], [200, 650]);
});

test('a release of the national directory that shrank, or lost its links, is refused', async () => {
  const people = Array.from({ length: 300 }, (_, at) => at);
  const load = async (
    endpoints: readonly number[],
    roles: readonly number[],
    acceptLoss = false,
  ): Promise<number> => {
    const folder = path.join(world.folder, 'release');
    await writeLines(folder, {
      Endpoint: endpoints.map((at) => endpoint(`e${at}`, `p${at}@npd.example`)),
      Practitioner: people.map((at) => practitioner(`p${at}`, npiOf(at))),
      ...(roles.length > 0 && {
        PractitionerRole: roles.map((at) =>
          role(`r${at}`, {
            practitioner: to('Practitioner', `p${at}`),
            endpoint: [to('Endpoint', `e${at}`)],
          }),
        ),
      }),
    });
    const release = await openReleaseFolder(folder, path.join(world.folder, 'work'));
    const input = { files: [], release, kind: 'full', sourceName: 'npd', acceptLoss } as const;
    return (await world.directory.importFiles(input)).recordCount;
  };
  assert.equal(await load(people, people), 300);
  for (const [what, endpoints, roles] of [
    ['endpoints', people.slice(0, 190), people],
    ['roles, and with them the NPIs', people, people.slice(0, 150)],
    ['all roles', people, []],
  ] as const)
    await assert.rejects(
      load(endpoints, roles),
      { ...tooManyLost, message: /^1[0-9]{2}|^300 of the 300 records of the source would be removed/ },
      what,
    );
  assert.equal(await countServed(), 300);
  assert.equal(await load(people.slice(0, 290), people), 290, 'a few go without a question');
  assert.equal(await load(people.slice(0, 150), people, true), 150);
});
