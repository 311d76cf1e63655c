/** The directory by the admin API: searched, shown by source, loaded by upload and rolled back, in the operator's name. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { silentLog } from '../../src/core/index.ts';
import { importDirectory } from '../../src/service/directory/index.ts';
import type {
  DirectoryForm,
  DirectoryRecord,
  LoadEvent,
  LoadPage,
  ProviderPage,
  SourceList,
  UploadAnswer,
} from '../../src/app/console/contract/index.ts';
import type { Role } from '../../src/service/operators/index.ts';
import { testGazetteer, toCsv } from '../directory/start-directory.ts';
import { waitUntil } from '../support/processes.ts';
import { startTestConsole, type TestConsole } from './start-console.ts';

const chicago = { org_city: 'Chicago', org_state: 'IL', org_zip: '60601' };
const doctors = [
  { prov_last_name: 'Garcia', prov_npi: '1234567893', ...chicago },
  { prov_last_name: 'Garrett', org_city: 'Boston', org_state: 'MA', org_zip: '02108' },
  { prov_last_name: 'Smith', ...chicago },
];

describe('the directory in the console', () => {
  let world: TestConsole;
  const tokens = new Map<Role, string>();

  before(async () => {
    world = await startTestConsole();
    const { store, tokens: issuer } = world.hisp.operators;
    for (const role of ['help-desk', 'operator', 'auditor'] as const) {
      const operator = await store.create(role, role);
      tokens.set(role, (await issuer.create(operator, { label: 'test', lifetimeMs: 3_600_000 })).token);
    }
  });
  after(() => world?.close());

  const headersOf = (role: Role) => ({ authorization: `Bearer ${tokens.get(role)}` });

  async function call<Body>(role: Role, method: string, target: string, init: RequestInit = {}) {
    const response = await fetch(`${world.url}/admin/v1/directory${target}`, {
      method,
      ...init,
      headers: { ...headersOf(role), ...(init.headers as Record<string, string>) },
    });
    const text = await response.text();
    return { status: response.status, text, body: JSON.parse(text) as Body };
  }

  const get = <Body>(target: string, role: Role = 'help-desk') => call<Body>(role, 'GET', target);

  /** Uploads, and returns what the stream of events told of the load. */
  async function upload(file: string | Buffer, query = '', type = 'text/csv'): Promise<readonly LoadEvent[]> {
    const events: LoadEvent[] = [];
    const ending = new AbortController();
    const stream = await fetch(`${world.url}/admin/v1/live`, {
      headers: { ...headersOf('operator'), accept: 'text/event-stream' },
      signal: ending.signal,
    });
    const reading = readEvents(stream, events).catch(() => undefined);
    const answer = await call<UploadAnswer>('operator', 'POST', `/loads${query}`, {
      body: typeof file === 'string' ? file : new Uint8Array(file),
      headers: { 'content-type': type },
    });
    assert.equal(answer.status, 202, answer.text);
    assert.equal(answer.body.bytes, Buffer.byteLength(file));
    const own = (): LoadEvent[] => events.filter(({ uploadId }) => uploadId === answer.body.uploadId);
    await waitUntil(() => own().some(({ phase }) => phase === 'done' || phase === 'failed'));
    ending.abort();
    await reading;
    return own();
  }

  it('accepts an upload, reports its progress, and shows its quality report', async () => {
    const events = await upload(toCsv(doctors), '?source=clinics&name=..%2Fclinics.csv');
    assert.equal(events.at(-1)?.phase, 'done');
    assert.equal(events.at(-1)?.rowsRead, 3);
    assert.ok(events.some(({ phase, totalBytes }) => phase === 'reading' && (totalBytes ?? 0) > 0));
    const { body } = await get<LoadPage>('/loads');
    assert.equal(body.next, null);
    const [load] = body.result;
    assert.deepEqual(
      [load?.state, load?.kind, load?.format, load?.source, load?.sourceName, load?.recordCount],
      ['ready', 'full', 'own', 'clinics.csv', 'clinics', 3],
    );
    assert.deepEqual([load?.report?.rowsRead, load?.report?.added, load?.report?.failure], [3, 3, '']);
    const [audited] = await world.audited('directory.load');
    assert.equal(audited?.['actor'], 'operator:operator');
    const [taken] = await world.audited('directory.upload');
    assert.deepEqual([taken?.['actor'], taken?.['source']], ['operator:operator', 'clinics.csv']);
  });

  it('searches by filters, sort and radius, in the name of the operator, and counts against no quota', async () => {
    const found = await get<ProviderPage>(
      '/search?prov_last_name=gar&sort_by=prov_last_name&sort_order=descending',
    );
    assert.equal(found.status, 200, found.text);
    assert.deepEqual(
      found.body.providers.map(({ values }) => values['prov_last_name']),
      ['Garrett', 'Garcia'],
    );
    assert.deepEqual([found.body.totalCount, found.body.offset, found.body.limit], [2, 0, 10]);
    assert.equal(found.body.center, null);
    assert.equal(found.body.providers[0]?.distance, null);
    assert.equal(found.body.providers[0]?.verification?.state, 'unverified');

    const near = await get<ProviderPage>('/search?org_zip=60601&radius=10&limit=1');
    assert.deepEqual([near.body.totalCount, near.body.providers.length], [2, 1]);
    assert.equal(near.body.center?.radiusMiles, 10);
    assert.equal(typeof near.body.providers[0]?.distance, 'number');
    assert.equal(typeof near.body.providers[0]?.lat, 'number');

    const states = await get<ProviderPage>('/search?verification=trusted');
    assert.equal(states.body.totalCount, 0);
    const rows = await world.audited('directory.search');
    assert.deepEqual(rows[0], { ...rows[0], actor: 'operator:help-desk', outcome: 'ok', shown: 0, total: 0 });
    assert.doesNotMatch(JSON.stringify(rows), /60601|gar/);
  });

  it('refuses the same parameters as the native search', async () => {
    const refused = await get<{ errors: { field: string }[] }>('/search?prov_lastname=x&radius=9');
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.body.errors.map(({ field }) => field).toSorted(), ['prov_lastname', 'radius']);
    const [row] = await world.audited('directory.search');
    assert.deepEqual([row?.['outcome'], row?.['code']], ['refused', 'DIRECTORY_QUERY_INVALID']);
  });

  it('lists the fields of the search', async () => {
    const { body } = await get<DirectoryForm>('/form');
    const npi = body.filters.find(({ name }) => name === 'prov_npi');
    assert.match('1234567893', new RegExp(npi?.pattern ?? 'none'));
    assert.ok(body.sortable.includes('radius') && body.sortable.includes('org_city'));
    assert.deepEqual([body.maxPageSize, body.maxRadiusMiles], [1000, 1000]);
  });

  it('shows a record with the source of each value', async () => {
    await upload(
      gzipSync(toCsv([{ prov_last_name: 'Garcia', prov_npi: '1234567893', org_phone: '312-555-0100' }])),
      '?source=phones&format=own',
      'application/gzip',
    );
    const { body: page } = await get<ProviderPage>('/search?prov_npi=1234567893');
    const { body, status } = await get<DirectoryRecord>(`/records/${page.providers[0]?.id}`);
    assert.equal(status, 200);
    assert.equal(body.directAddress, 'p1@direct.test.example');
    const sourceOf = (name: string) => body.values.find((value) => value.name === name)?.source;
    assert.deepEqual([sourceOf('org_city'), sourceOf('org_phone')], ['clinics', 'phones']);
    assert.deepEqual(body.said.map(({ source }) => source).toSorted(), ['clinics', 'phones']);
    assert.equal(body.isOpen, false);
    const [row] = await world.audited('directory.show');
    assert.deepEqual([row?.['actor'], row?.['record']], ['operator:help-desk', body.id]);
    assert.equal((await get('/records/99999999')).status, 404);
    assert.equal((await get('/records/x')).status, 400);
  });

  it('rolls a source back', async () => {
    await upload(toCsv(doctors.slice(0, 1)), '?source=clinics');
    const before = await get<SourceList>('/sources');
    const clinics = before.body.result.find(({ name }) => name === 'clinics');
    assert.deepEqual([clinics?.active?.recordCount, clinics?.previous?.recordCount], [1, 3]);
    assert.equal(before.body.recordCount, 1);
    assert.equal(before.body.verification, null);
    const target = '/sources/clinics/rollback';
    const asJson = { body: '{}', headers: { 'content-type': 'application/json' } };
    assert.equal((await call('auditor', 'POST', target, asJson)).status, 403);
    const stale = await call('operator', 'POST', `${target}?activeId=${clinics?.previous?.id}`, asJson);
    assert.equal(stale.status, 409, 'another load is active');
    const done = await call<{ sentence: string; recordCount: number }>(
      'operator',
      'POST',
      `${target}?activeId=${clinics?.active?.id}`,
      asJson,
    );
    assert.equal(done.status, 200, done.text);
    assert.equal(done.body.recordCount, 3);
    assert.equal((await get<SourceList>('/sources')).body.recordCount, 3);
    assert.equal((await world.audited('directory.rollback'))[0]?.['actor'], 'operator:operator');
    assert.equal((await call('operator', 'POST', '/sources/none/rollback', asJson)).status, 404);
  });

  it('starts and pauses the verification of addresses', async () => {
    const change = (role: Role, isRunning: boolean) =>
      call<{ sentence: string }>(role, 'POST', '/verification', {
        body: JSON.stringify({ isRunning }),
        headers: { 'content-type': 'application/json' },
      });
    const isRunning = async () => (await get<SourceList>('/sources')).body.verifying.isRunning;
    assert.equal(await isRunning(), false);
    assert.equal((await change('help-desk', true)).status, 403);
    assert.match((await change('operator', true)).body.sentence, /^The verification is running;/);
    assert.equal(await isRunning(), true);
    assert.equal((await world.audited('verification.start'))[0]?.['actor'], 'operator:operator');
    await change('operator', false);
    assert.equal(await isRunning(), false);
  });

  it('pages through the loads of a source', async () => {
    const first = await get<LoadPage>('/loads?source=clinics&limit=1');
    assert.equal(first.body.result.length, 1);
    const second = await get<LoadPage>(`/loads?source=clinics&limit=1&cursor=${first.body.next}`);
    assert.ok((second.body.result[0]?.id ?? 0) < (first.body.result[0]?.id ?? 0));
    assert.equal((await get('/loads?cursor=x')).status, 400);
  });

  it('reports why a file was not loaded, and keeps serving', async () => {
    const other = await upload(toCsv(doctors), '?format=nppes');
    assert.equal(other.at(-1)?.phase, 'failed');
    assert.match(other.at(-1)?.text ?? '', /format own, not of nppes/);
    const broken = await upload('colour,shape\nred,round\n');
    assert.match(broken.at(-1)?.text ?? '', /No file has the columns/);
    const failed = (await world.audited('directory.load')).filter((row) => row['outcome'] === 'failed');
    assert.deepEqual(
      failed.map((row) => [row['code'], row['actor']]),
      Array.from({ length: 2 }, () => ['DIRECTORY_FORMAT_UNKNOWN', 'operator:operator']),
    );
    assert.equal((await get<ProviderPage>('/search?prov_last_name=smith')).body.totalCount, 1);
  });

  it('refuses an upload that would lose much, until the loss is accepted', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => ({ serv_direct_addr: `k${index}@d.example` }));
    const left = rows.map((row, index) => (index < 10 ? row : { serv_direct_addr: 'cut' }));
    assert.equal((await upload(toCsv(rows), '?source=whole')).at(-1)?.isLoss, false);
    const refused = (await upload(toCsv(left), '?source=whole')).at(-1);
    assert.deepEqual([refused?.phase, refused?.isLoss], ['failed', true]);
    assert.match(refused?.text ?? '', /^96\.7 % of the rows are refused/);
    const { body } = await get<LoadPage>('/loads?source=whole');
    assert.deepEqual(
      body.result.map(({ state, report }) => [state, report?.loaded, report?.removed, report?.refusedRows]),
      [
        ['failed', 10, 290, 290],
        ['ready', 300, 0, 0],
      ],
    );
    const broken = (await upload('colour,shape\nred,round\n', '?source=whole')).at(-1);
    assert.deepEqual([broken?.phase, broken?.isLoss], ['failed', false]);
    assert.equal((await upload(toCsv(left), '?source=whole&acceptLoss=true')).at(-1)?.phase, 'done');
  });

  it('loads in a separate process; when that is killed, the load has failed, and the next one is made', async () => {
    const rows = Array.from({ length: 60_000 }, (_, index) => ({ serv_direct_addr: `m${index}@d.example` }));
    const uploading = upload(toCsv(rows), '?source=crowd');
    await waitUntil(async () => {
      const { body } = await get<LoadPage>('/loads?source=crowd');
      return body.result[0]?.state === 'loading';
    });
    const [pid] = await findLoadProcesses();
    assert.ok(pid !== undefined);
    process.kill(pid, 'SIGKILL');
    const events = await uploading;
    assert.equal(events.at(-1)?.phase, 'failed');
    assert.match(events.at(-1)?.text ?? '', /ended before its answer: SIGKILL/);
    const again = await upload(toCsv(doctors.slice(0, 1)), '?source=crowd');
    assert.equal(again.at(-1)?.phase, 'done');
    const { body } = await get<LoadPage>('/loads?source=crowd');
    assert.deepEqual(
      body.result.map(({ state }) => state),
      ['ready', 'failed'],
    );
    assert.deepEqual(await findLoadProcesses(), []);
  });

  it('lists a refused file with the time, the operator and the reason', async () => {
    const startedAtMs = Date.now();
    await upload('colour,shape\nred,round\n', '?source=shapes&name=shapes.csv');
    const [load] = (await get<LoadPage>('/loads')).body.result;
    assert.deepEqual(
      [load?.state, load?.source, load?.sourceName, load?.startedBy],
      ['failed', 'shapes.csv', 'shapes', 'operator:operator'],
    );
    // Of the process that loads, whose clock is the system's.
    assert.ok(Date.parse(load?.finishedAt ?? '') >= startedAtMs - 1000);
    assert.match(load?.report?.failure ?? '', /No file has the columns of a directory/);
    assert.equal(load?.node?.isThis, true);
    // A .zip without a CSV file is refused before its format is looked at, the name of a source after.
    await upload(Buffer.from('PK\u0005\u0006'.padEnd(22, '\0')), '?name=empty.zip', 'application/zip');
    await upload(toCsv(doctors), '?source=hosted');
    const [badSource, noFile] = (await get<LoadPage>('/loads')).body.result;
    assert.match(badSource?.report?.failure ?? '', /"hosted" is reserved/);
    assert.deepEqual([noFile?.state, noFile?.source], ['failed', 'empty.zip']);
    assert.match(noFile?.report?.failure ?? '', /holds no .csv file/);
    const { body } = await get<SourceList>('/sources');
    assert.ok(!body.result.some(({ name }) => name === 'shapes'), 'and makes no source');
    const row = (await world.audited('directory.load')).find((one) => one['load'] === load?.id);
    assert.deepEqual([row?.['outcome'], row?.['actor']], ['refused', 'operator:operator']);
  });

  it('shows how far a load of another node is, live', async () => {
    const topics: string[] = [];
    const ending = new AbortController();
    const stream = await fetch(`${world.url}/admin/v1/live`, {
      headers: { ...headersOf('help-desk'), accept: 'text/event-stream' },
      signal: ending.signal,
    });
    const reading = readTopics(stream, topics).catch(() => undefined);
    // The loads of the tests before may be told only now: the stream looks each second.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    topics.length = 0;
    const rows = toCsv(
      Array.from({ length: 40 }, (_, index) => ({ serv_direct_addr: `n${index}@d.example` })),
    );
    const half = rows.length / 2;
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* slowFile() {
      yield Buffer.from(rows.slice(0, half));
      await released;
      yield Buffer.from(rows.slice(half));
    }
    const { storage, audit } = world.hisp;
    const snapshotDir = await mkdtemp(path.join(tmpdir(), 'openhisp-other-node-'));
    const loading = importDirectory(
      {
        storage,
        audit,
        clock: world.clock,
        log: silentLog,
        gazetteer: testGazetteer(),
        snapshotDir,
        nodes: { id: 'another-node' },
      },
      {
        files: [{ name: 'slow.csv', sizeBytes: rows.length, open: async () => Readable.from(slowFile()) }],
        kind: 'full',
        sourceName: 'slow',
        startedBy: 'operator:elsewhere',
      },
    );
    try {
      const running = async () =>
        (await get<LoadPage>('/loads')).body.result.find(({ state }) => state === 'loading');
      await waitUntil(async () => ((await running())?.progress?.rowsRead ?? 0) > 0);
      const load = await running();
      assert.deepEqual(
        [load?.source, load?.startedBy, load?.progress?.phase, load?.progress?.totalBytes],
        ['slow.csv', 'operator:elsewhere', 'reading', rows.length],
      );
      assert.deepEqual(load?.node, { id: 'another-node', isThis: false });
      await waitUntil(() => topics.includes('loads'));
      assert.ok(!topics.includes('directory'), 'what is found has not changed');
    } finally {
      release();
      await loading;
      await rm(snapshotDir, { recursive: true, maxRetries: 5 });
      ending.abort();
      await reading;
    }
    const [done] = (await get<LoadPage>('/loads?source=slow')).body.result;
    assert.deepEqual([done?.state, done?.progress, done?.recordCount], ['ready', null, 40]);
  });

  it('takes uploads only of whom it may, of files, and of a size', async () => {
    const csv = { body: toCsv(doctors), headers: { 'content-type': 'text/csv' } };
    for (const role of ['help-desk', 'auditor'] as const)
      assert.equal((await call(role, 'POST', '/loads', csv)).status, 403);
    const asText = { body: '{}', headers: { 'content-type': 'application/json' } };
    assert.equal((await call('operator', 'POST', '/loads', asText)).status, 400);
    const empty = { headers: { 'content-type': 'text/csv' } };
    assert.equal((await call('operator', 'POST', '/loads', empty)).status, 400);
    // The default of a kind or a source left empty would replace the records of the source "default".
    const { text, status } = await call('operator', 'POST', '/loads?source=&kind=', csv);
    assert.equal(status, 400, text);
    const { errors } = JSON.parse(text) as { errors: { field: string }[] };
    assert.deepEqual(errors.map(({ field }) => field).toSorted(), ['kind', 'source']);
    assert.equal(await announce(9_000_000_000), 413);
  });

  /** Says that so much comes, and sends nothing. */
  function announce(bytes: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(`${world.url}/admin/v1/directory/loads`, {
        method: 'POST',
        headers: { ...headersOf('operator'), 'content-type': 'text/csv', 'content-length': bytes },
      });
      request.once('response', (response) => {
        resolve(response.statusCode ?? 0);
        request.destroy();
      });
      request.once('error', reject);
      request.flushHeaders();
    });
  }
});

async function readEvents(stream: Response, into: LoadEvent[]): Promise<void> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream.body as AsyncIterable<Uint8Array>) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = /^event: load\ndata: (.*)$/.exec(block)?.[1];
      if (data !== undefined) into.push(JSON.parse(data) as LoadEvent);
    }
  }
}

/** Processes of this one that load a directory. */
async function findLoadProcesses(): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue;
    // A process may end between two looks.
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (!command.includes('directory-process')) continue;
    const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => '');
    if (Number(/^PPid:\s+([0-9]+)$/m.exec(status)?.[1]) === process.pid) found.push(Number(name));
  }
  return found;
}

async function readTopics(stream: Response, into: string[]): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream.body as AsyncIterable<Uint8Array>)
    for (const [, topics] of decoder
      .decode(chunk, { stream: true })
      .matchAll(/^data: .*"topics":\[(.*?)\]/gm))
      into.push(...(topics ?? '').replaceAll('"', '').split(','));
}
