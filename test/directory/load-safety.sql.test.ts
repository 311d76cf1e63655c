import assert from 'node:assert/strict';
import { appendFile, mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ZipFile } from 'yazl';
import {
  formatReport,
  openInput,
  openStream,
  readReport,
  rollBack,
} from '../../src/service/directory/index.ts';
import { silentLog } from '../../src/core/index.ts';
import { refusalReasons, warningReasons } from '../../src/service/directory/load/row.ts';
import { loadState } from '../../src/service/directory/store/state.ts';
import type { DirectoryTables } from '../../src/service/directory/store/tables.ts';
import { beginLoad, snapshotsOf, startTestDirectory, toCsv, type TestDirectory } from './start-directory.ts';

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
});
after(() => world.close());

async function addresses(): Promise<unknown[]> {
  const { body } = await world.search({ limit: 1000, sort_by: 'serv_direct_addr' });
  return (body.providers ?? []).map((record) => record['serv_direct_addr']);
}

async function blockCount(): Promise<number> {
  return (
    await world.storage.tables<DirectoryTables>().selectFrom('directory_block').select('sequence').execute()
  ).length;
}

describe('the quality report', () => {
  test('names every reason to refuse a row, with line numbers, and loads the rest', async () => {
    const rows = [
      { serv_direct_addr: 'good@d.example' },
      { serv_direct_addr: '', org_name: 'No address' },
      { serv_direct_addr: 'no address' },
      { serv_direct_addr: 'patient@d.example', entity_category: '1.3.6.1.4.1.41179.2.4' },
      { serv_direct_addr: 'npi@d.example', prov_npi: '12345' },
      { serv_direct_addr: 'odd@d.example', action: 'frobnicate' },
      { serv_direct_addr: 'GOOD@d.example' },
      { serv_direct_addr: 'good@d.example', action: 'remove' },
      { serv_direct_addr: 'long@d.example', org_name: 'x'.repeat(501) },
      { serv_direct_addr: 'utf@d.example', org_name: 'XXXX' },
    ];
    const csv = Buffer.from(`${toCsv(rows, ['action', 'entity_category'])}too,few\n"mis"quoted,row\n`);
    csv.fill(0xff, csv.indexOf('XXXX'), csv.indexOf('XXXX') + 4);
    const file = path.join(world.folder, 'quality.csv');
    await writeFile(file, csv);
    const report = await world.directory.importFiles({
      files: await openInput(file),
      kind: 'full',
      acceptLoss: true,
    });
    assert.deepEqual(report.refused, {
      direct_address_missing: { count: 1, lines: [3] },
      direct_address_invalid: { count: 1, lines: [4] },
      patient_address: { count: 1, lines: [5] },
      npi_invalid: { count: 1, lines: [6] },
      action_unknown: { count: 1, lines: [7] },
      duplicate: { count: 1, lines: [8] },
      removal_in_full_load: { count: 1, lines: [9] },
      too_long: { count: 1, lines: [10] },
      not_utf8: { count: 1, lines: [11] },
      columns: { count: 1, lines: [12] },
      quoting: { count: 1, lines: [13] },
    });
    assert.deepEqual([report.rowsRead, report.loaded, report.refusedRows], [12, 1, 11]);
    const untested = Object.keys(refusalReasons).filter((reason) => !(reason in report.refused));
    assert.deepEqual(
      untested,
      ['npi_rounded', 'removal_unknown', 'endpoint_row'],
      'which the tests of other loads provoke',
    );
    assert.deepEqual(await addresses(), ['good@d.example']);
  });

  test('warns about implausible values, and repairs unambiguous ones', async () => {
    const rows = [
      { serv_direct_addr: 'a@d.example', prov_npi: '1234567890' },
      { serv_direct_addr: 'b@d.example', org_state: 'ZZ', org_zip: '99999' },
      { serv_direct_addr: 'c@d.example', org_state: 'Massachusetts', org_zip: '2139' },
      { serv_direct_addr: 'd@d.example', org_state: 'MA', org_zip: '60611A' },
      { serv_direct_addr: 'e@d.example', org_state: 'MA', org_zip: '606111234' },
      { serv_direct_addr: 'f@d.example', org_zip: '02139', lat: 95, lng: 0 },
      { serv_direct_addr: 'g@d.example', prov_last_name: 'Müller', org_phone: 'call us' },
      { serv_direct_addr: 'h@d.example', org_city: 'Boston', org_state: 'MA', org_zip: '01101' },
    ];
    const report = await world.load(toCsv(rows));
    const lines = Object.fromEntries(
      Object.entries(report.warnings).map(([reason, finding]) => [reason, finding.lines]),
    );
    assert.deepEqual(lines, {
      npi_check_digit: [2],
      coordinates_missing: [2, 3, 5, 8],
      state_unknown: [3],
      zip_unknown: [3],
      zip_repaired: [4, 6],
      zip_invalid: [5],
      state_zip_disagree: [6],
      city_zip_disagree: [9],
      coordinates_invalid: [7],
      not_ascii: [8],
      phone_form: [8],
    });
    // Those have tests of their own.
    assert.deepEqual(
      Object.keys(warningReasons).filter((reason) => !(reason in report.warnings)),
      ['other_name_row', 'unnamed_value', 'phone_rounded'],
    );
    const { body } = await world.search({ sort_by: 'serv_direct_addr' });
    assert.deepEqual(
      body.providers?.map((record) => [record['org_state'], record['org_zip']]),
      [
        ['', ''],
        ['ZZ', '99999'],
        ['MA', '02139'],
        ['MA', ''],
        ['MA', '60611-1234'],
        ['', '02139'],
        ['', ''],
        ['MA', '01101'],
      ],
    );
  });

  test('a quote that opens by mistake costs its row, whether another one follows or not', async () => {
    const count = 40_000;
    const rows = Array.from({ length: count }, (_, index) => `row${index}@d.example,Name ${index},\n`);
    rows[10] = 'row10@d.example,"Name 10,\n';
    const report = await world.load(`serv_direct_addr,prov_last_name,org_name\n${rows.join('')}`);
    assert.deepEqual(report.refused, { quoting: { count: 1, lines: [12] } });
    assert.deepEqual([report.rowsRead, report.loaded], [count, count - 1]);
  });

  test('a quote that opens by mistake costs its row, not those up to the next quote', async () => {
    const rows = Array.from({ length: 400 }, (_, index) => `row${index}@d.example,Name ${index},\n`);
    rows[10] = 'row10@d.example,"Name 10,\n';
    rows[390] = 'row390@d.example,"Name, 390",\n';
    const report = await world.load(`serv_direct_addr,prov_last_name,org_name\n${rows.join('')}`);
    assert.deepEqual(report.refused, { quoting: { count: 1, lines: [12] } });
    assert.deepEqual([report.rowsRead, report.loaded], [400, 399]);
    assert.equal((await addresses()).length, 399);
  });

  test("zero bytes in a row are that row's, however near the header", async () => {
    const report = await world.load(
      'serv_direct_addr,org_name\na\0b@d.example,x\nc@d.example,y\0\0\n\0\0\0\n',
    );
    assert.deepEqual(report.refused, {
      direct_address_invalid: { count: 1, lines: [2] },
      columns: { count: 1, lines: [4] },
    });
    assert.deepEqual(await addresses(), ['c@d.example']);
  });

  test('keeps full counts next to a capped list of lines, is stored, and has a readable form', async () => {
    const rows = Array.from({ length: 250 }, (_, index) => ({
      serv_direct_addr: index === 0 ? 'one@d.example' : 'bad',
    }));
    await world.load(toCsv(rows));
    const report = await readReport(world.storage);
    assert.equal(report.refused.direct_address_invalid?.count, 249);
    assert.equal(report.refused.direct_address_invalid?.lines.length, 100);
    const text = formatReport(report).join('\n');
    assert.match(text, /250 rows read, 1 loaded/);
    assert.match(text, /refused direct_address_invalid: 249\./);
    await assert.rejects(readReport(world.storage, 9999), { code: 'DIRECTORY_LOAD_UNKNOWN' });
  });
});

describe('a load is all or nothing', () => {
  const many = toCsv(
    Array.from({ length: 9000 }, (_, index) => ({ serv_direct_addr: `m${index}@d.example` })),
  );

  /** State that a failing load must not change. */
  async function assertUntouched(broken: Promise<unknown>, code: string): Promise<void> {
    await assert.rejects(broken, { code });
    assert.deepEqual(await addresses(), ['old@d.example']);
    assert.equal(await blockCount(), blocksBefore, 'a failed load leaves no blocks');
    assert.equal((await world.directory.status()).running, undefined);
  }

  let blocksBefore = 0;
  before(async () => {
    await world.load(toCsv([{ serv_direct_addr: 'old@d.example' }]));
    blocksBefore = await blockCount();
  });

  test('a .gz that is cut off', async () => {
    const file = path.join(world.folder, 'cut.gz');
    await writeFile(file, gzipSync(many));
    await truncate(file, (await readFile(file)).length - 100);
    await assertUntouched(
      world.directory.importFiles({ files: await openInput(file), kind: 'full' }),
      'DIRECTORY_FILE_BROKEN',
    );
  });

  test('a file that ends in the middle of a row', async () => {
    await assertUntouched(world.load(many.slice(0, -40)), 'DIRECTORY_FILE_BROKEN');
  });

  test('a quote that is never closed', async () => {
    await assertUntouched(world.load(`${many}"never closed`), 'DIRECTORY_FILE_BROKEN');
  });

  test('an empty file, and one without a row that can be loaded', async () => {
    await assertUntouched(world.load(''), 'DIRECTORY_FILE_BROKEN');
    await assertUntouched(world.load(toCsv([])), 'DIRECTORY_TOO_MANY_REFUSED');
    await assertUntouched(world.load(toCsv([{ serv_direct_addr: 'bad' }])), 'DIRECTORY_TOO_MANY_REFUSED');
  });

  test('a header with unknown columns, and a table that is no directory', async () => {
    await assertUntouched(
      world.load('serv_direct_addr,prov_lastname\na@d.example,x\n'),
      'DIRECTORY_FORMAT_UNKNOWN',
    );
    await assertUntouched(world.load('a,b\n1,2\n'), 'DIRECTORY_FORMAT_UNKNOWN');
    await assertUntouched(
      world.load('serv_direct_addr,,,org_name\na@d.example,x,y,z\n'),
      'DIRECTORY_FORMAT_UNKNOWN',
    );
    assert.equal(
      (await readReport(world.storage)).failure,
      'The header has unknown columns: (without a name), (without a name)',
    );
  });

  test('a .zip with a changed byte, although it can be unpacked', async () => {
    const zip = new ZipFile();
    zip.addBuffer(Buffer.from(many), 'many.csv', { compress: false });
    zip.end();
    const bytes = await buffer(zip.outputStream);
    bytes.write('z', bytes.indexOf('m4000@d.example'));
    const file = path.join(world.folder, 'damaged.zip');
    await writeFile(file, bytes);
    await assertUntouched(
      world.directory.importFiles({ files: await openInput(file), kind: 'full' }),
      'DIRECTORY_FILE_BROKEN',
    );
    assert.match((await readReport(world.storage)).failure ?? '', /the \.zip is damaged/);
  });

  test('a file that is still being written', async () => {
    const file = path.join(world.folder, 'growing.csv');
    await writeFile(file, toCsv([{ serv_direct_addr: 'first@d.example' }]));
    const files = (await openInput(file)).map((input) => ({
      ...input,
      open: async (onBytes?: (count: number) => void) => {
        const stream = await input.open(onBytes);
        await appendFile(file, 'second@d.example\n');
        return stream;
      },
    }));
    await assertUntouched(world.directory.importFiles({ files, kind: 'full' }), 'DIRECTORY_FILE_BROKEN');
    assert.match((await readReport(world.storage)).failure ?? '', /it was changed meanwhile/);
  });

  test('a text in UTF-16 is called that, with and without a byte order mark', async () => {
    const file = path.join(world.folder, 'utf16.csv');
    for (const mark of ['\ufeff', '']) {
      await writeFile(file, Buffer.from(`${mark}${toCsv([{ serv_direct_addr: 'a@d.example' }])}`, 'utf16le'));
      await assert.rejects(
        world.directory.importFiles({ files: await openInput(file), kind: 'full' }),
        /The text is UTF-16, not UTF-8/,
      );
    }
  });

  test('a header that cannot be read; each error says why', async () => {
    const file = path.join(world.folder, 'header.csv');
    for (const [text, code, why] of [
      [
        'serv_direct_addr,org_name\ra@d.example,x\r',
        'DIRECTORY_FILE_BROKEN',
        'The lines end with CR alone, not with LF or CRLF: save it again as "CSV UTF-8"',
      ],
      [
        `serv_direct_addr,${'x'.repeat(1000)}\na@d.example,x\n`,
        'DIRECTORY_FORMAT_UNKNOWN',
        `The header has unknown columns: ${'x'.repeat(64)}…`,
      ],
      [
        'serv_direct_addr,Org Name,org_name\na@d.example,x,y\n',
        'DIRECTORY_FORMAT_UNKNOWN',
        'The header has a repeated column: org_name',
      ],
      [
        'service_direct_address,organization_name,Organization Name\na@d.example,x,y\n',
        'DIRECTORY_FORMAT_UNKNOWN',
        'The header has a repeated column: organization_name',
      ],
      [
        'SQLite format 3\0\u0010\0\u0001\n',
        'DIRECTORY_FILE_BROKEN',
        'The file is no text: there are zero bytes in its first line',
      ],
      // A key of a database, not the start of a .zip.
      [
        'PK,serv_direct_addr\n1,a@d.example\n',
        'DIRECTORY_FORMAT_UNKNOWN',
        'The header has unknown columns: pk',
      ],
    ] as const) {
      await writeFile(file, text);
      await assertUntouched(
        openInput(file).then((files) => world.directory.importFiles({ files, kind: 'full' })),
        code,
      );
      assert.equal((await readReport(world.storage)).failure, why);
    }
  });

  test('standard input that fails at once', async () => {
    const stream = new Readable({ read: () => stream.destroy(new Error('it was closed')) });
    await assertUntouched(
      world.directory.importFiles({ files: openStream(stream), kind: 'full' }),
      'DIRECTORY_FILE_UNREADABLE',
    );
    assert.equal((await readReport(world.storage)).failure, 'standard input cannot be read: it was closed');
  });

  test('a missing file, a folder and half a .zip; each error says why', async () => {
    const half = path.join(world.folder, 'half.zip');
    await writeFile(half, 'PK\x03\x04 and no table of contents');
    for (const [name, why] of [
      ['missing.csv', /^missing\.csv cannot be read: not found$/],
      ['.', /cannot be read: it is a folder$/],
      ['half.zip', /^half\.zip cannot be read: .*truncated/],
    ] as const)
      await assert.rejects(openInput(path.join(world.folder, name)), {
        code: 'DIRECTORY_FILE_UNREADABLE',
        message: why,
      });
  });

  test('a .zip whose content is encrypted or packed by an unknown method; the error says so', async () => {
    const zip = new ZipFile();
    zip.addBuffer(Buffer.from(many), 'many.csv');
    zip.end();
    const whole = await buffer(zip.outputStream);
    const file = path.join(world.folder, 'odd.zip');
    const [local, central] = [0, whole.indexOf('PK\x01\x02', 0, 'latin1')];
    for (const [flagsOrMethod, value, why] of [
      [6, 1, /^many\.csv cannot be read: .*encrypted/],
      [8, 9, /^many\.csv cannot be read: .*unsupported compression method: 9/],
    ] as const) {
      const changed = Buffer.from(whole);
      changed.writeUInt16LE(
        flagsOrMethod === 6 ? changed.readUInt16LE(6) | value : value,
        local + flagsOrMethod,
      );
      changed.writeUInt16LE(
        flagsOrMethod === 6 ? changed.readUInt16LE(central + 8) | value : value,
        central + flagsOrMethod + 2,
      );
      await writeFile(file, changed);
      const files = await openInput(file);
      await assertUntouched(
        world.directory.importFiles({ files, kind: 'full' }),
        'DIRECTORY_FILE_UNREADABLE',
      );
      assert.match((await readReport(world.storage)).failure ?? '', why);
    }
  });

  test('no file stays open when the files are refused', async () => {
    const good = toCsv([{ serv_direct_addr: 'a@d.example' }]);
    for (const texts of [
      ['serv_direct_addr,unknown_column\na@d.example,x\n'],
      [good, good],
      [good, '\n'],
      ['serv_direct_addr\0\n'],
    ]) {
      const streams: Readable[] = [];
      const files = texts.map((text, at) => ({
        name: `${at}.csv`,
        sizeBytes: undefined,
        async open() {
          // More than a stream holds at once.
          const stream = Readable.from([Buffer.from(text), Buffer.alloc(1 << 20, 'x\n')]);
          streams.push(stream);
          return stream;
        },
      }));
      await assert.rejects(world.directory.importFiles({ files, kind: 'full' }));
      assert.deepEqual(
        streams.map((stream) => stream.destroyed),
        texts.map(() => true),
        texts[0],
      );
    }
  });

  test('more refused rows than allowed', async () => {
    const file = path.join(world.folder, 'many-bad.csv');
    await writeFile(file, toCsv([{ serv_direct_addr: 'ok@d.example' }, { serv_direct_addr: 'bad' }]));
    await assertUntouched(
      world.directory.importFiles({ files: await openInput(file), kind: 'full', maxRefusedShare: 0.1 }),
      'DIRECTORY_TOO_MANY_REFUSED',
    );
  });

  test('the report of a load that was aborted is kept and says why', async () => {
    const report = await readReport(world.storage);
    assert.match(report.failure ?? '', /refused/);
  });

  test('a second load at the same time is refused', async () => {
    const slow = await beginLoad(world, many, 'default');
    await assert.rejects(world.load(toCsv([{ serv_direct_addr: 'other@d.example' }])), {
      code: 'DIRECTORY_LOAD_RUNNING',
    });
    assert.equal((await slow.finish()).loaded, 9000);
    await world.load(toCsv([{ serv_direct_addr: 'old@d.example' }]));
  });
});

describe('generations', () => {
  test('rollback returns to the previous directory, until none is left', async () => {
    const own = await startTestDirectory();
    const served = async (): Promise<unknown> => {
      await own.directory.refresh();
      return (await own.search({})).body.providers?.map((record) => record['serv_direct_addr']);
    };
    try {
      await assert.rejects(rollBack(own), { code: 'DIRECTORY_NOTHING_TO_ROLL_BACK' });
      for (const name of ['one', 'two', 'three'])
        await own.load(toCsv([{ serv_direct_addr: `${name}@d.example` }]));
      assert.equal((await rollBack(own)).id, 2);
      assert.deepEqual(await served(), ['two@d.example']);
      await own.load(toCsv([{ serv_direct_addr: 'four@d.example', prov_last_name: 'Four' }]), 'incremental');
      assert.deepEqual(await served(), ['two@d.example', 'four@d.example']);
      await rollBack(own);
      assert.deepEqual(await served(), ['two@d.example']);
      await rollBack(own);
      assert.deepEqual(await served(), ['one@d.example']);
      await assert.rejects(rollBack(own), { code: 'DIRECTORY_NOTHING_TO_ROLL_BACK' });
      const actions = (await own.audit.find({}))
        .filter(({ actor }) => actor === 'operator')
        .map(({ action }) => action);
      assert.equal(actions.filter((action) => action === 'directory.load').length, 4);
      assert.equal(actions.filter((action) => action === 'directory.rollback').length, 3);
      await own.audit.verifyChain();
    } finally {
      await own.close();
    }
  });

  test('an index whose snapshot cannot be written is served', async () => {
    await world.load(toCsv([{ serv_direct_addr: 'unwritten@d.example' }]));
    const { revision } = await loadState(world.storage);
    const blocked: string[] = [];
    for (const name of await snapshotsOf(world)) {
      await rm(path.join(world.snapshotDir, name));
      blocked.push(path.join(world.snapshotDir, name.replace(/\d+\.idx$/, `${revision}.idx`)));
    }
    assert.equal(blocked.length, 1);
    // Where the next one belongs: a folder that is not empty can be neither read nor replaced.
    for (const folder of blocked) await mkdir(path.join(folder, 'full'), { recursive: true });
    const again = await startTestDirectory({ sharesWith: world });
    try {
      const { body } = await again.search({});
      assert.deepEqual(
        body.providers?.map((record) => record['serv_direct_addr']),
        ['unwritten@d.example'],
      );
    } finally {
      await again.close();
      for (const folder of blocked) await rm(folder, { recursive: true, maxRetries: 5 });
    }
  });

  test('old generations are cleared away, so that repeated loads do not fill the disk', async () => {
    for (let round = 0; round < 8; round++)
      await world.load(toCsv([{ serv_direct_addr: `r${round}@d.example` }]));
    assert.ok((await blockCount()) <= 3, `${await blockCount()} blocks`);
    const { loads } = await world.directory.status();
    assert.equal(loads.filter((load) => load.state === 'ready').length, 3);
  });

  test('a snapshot that is damaged or missing is replaced from the database', async () => {
    const { readdir } = await import('node:fs/promises');
    await world.load(toCsv([{ serv_direct_addr: 'snap@d.example' }]));
    const [name = ''] = (await readdir(world.snapshotDir)).filter((file) => file.endsWith('.idx'));
    await appendFile(path.join(world.snapshotDir, name), 'x');
    await truncate(path.join(world.snapshotDir, name), 100);
    const warnings: unknown[] = [];
    const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
    const again = await startTestDirectory({ sharesWith: world, log });
    try {
      const { body } = await again.search({});
      assert.deepEqual(
        body.providers?.map((record) => record['serv_direct_addr']),
        ['snap@d.example'],
      );
      assert.equal(warnings.length, 1);
      assert.match(JSON.stringify(warnings), /INDEX_SNAPSHOT_INVALID.*it is too short/);
    } finally {
      await again.close();
    }
  });
});
