/**
 * FHIR searches compared with the native search for the same question: `node bench/directory/fhir.ts [--records 300000] [--own-npis] [--http]
 * [--folder FOLDER] [--only PATTERN]`, over invented records or those of a folder that holds a directory, in turn and at random
 * offsets; `--only` takes the questions that the regular expression fits.
 *
 * Without `--http` in one process, by CPU time of the whole process, since the machine has other work: microseconds per search
 * natively and as FHIR, and the median of the ratios. With it as a client sees it: whole requests to the real server over one kept
 * connection from another process, median and 95th percentile. Node runs with the options of a serving process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openInput, type DirectoryAnswer, type ResourceType } from '../../src/service/directory/index.ts';
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import { seededRandom } from '../../test/support/random-directory.ts';
import { runAsServed } from '../run-as-served.ts';
import { openHttpTarget, type HttpTarget } from './http-target.ts';
import { openDirectory, writeSampleCsv } from './import.ts';
import { medianOf } from './median.ts';

const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '300000' },
    http: { type: 'boolean', default: false },
    folder: { type: 'string' },
    'own-npis': { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
});

interface Question {
  readonly type: ResourceType;
  readonly fhir: Readonly<Record<string, string>>;
  readonly native: Readonly<Record<string, string>>;
}

const questions: readonly Question[] = [
  { type: 'Endpoint', fhir: {}, native: {} },
  { type: 'Endpoint', fhir: { 'address:contains': 'an' }, native: { serv_direct_addr: 'an' } },
  { type: 'Practitioner', fhir: { family: 'smith' }, native: { prov_last_name: 'smith' } },
  { type: 'Practitioner', fhir: { family: 's' }, native: { prov_last_name: 's' } },
  { type: 'Practitioner', fhir: {}, native: {} },
  {
    type: 'PractitionerRole',
    fhir: { 'specialty:text': 'internal' },
    native: { prov_spec_text: 'internal' },
  },
  { type: 'Organization', fhir: { 'name:contains': 'clinic' }, native: { org_name: 'clinic' } },
  {
    type: 'Organization',
    fhir: { 'address-state:exact': 'TX', 'address-city': 'aus' },
    native: { org_state: 'TX', org_city: 'aus' },
  },
  { type: 'Location', fhir: { 'address-state:exact': 'CA' }, native: { org_state: 'CA' } },
  { type: 'Location', fhir: { near: '30.27|-97.74|25|[mi_us]' }, native: { org_zip: '78701', radius: '25' } },
  {
    type: 'Location',
    fhir: { near: '30.27|-97.74|500|[mi_us]' },
    native: { org_zip: '78701', radius: '500' },
  },
];

const rounds = 15;
/** Requests of one measurement. */
const requests = 20;
const counts = [10, 100, 1000];
const caller = { client: { clientId: 'bench', limits: {}, dataUseAcceptedAt: new Date() } };
const request = { caller, base: 'http://127.0.0.1/fhir', isStrict: true };
const random = seededRandom(20_261_122);

interface Pair {
  readonly native: number;
  readonly fhir: number;
}

/** Every fifth record names no person, so that its NPI is that of its organization, as in national files. */
function makeOwnNpi(record: ProviderRecord): ProviderRecord {
  return record.id % 5 === 0
    ? { ...record, firstName: '', middleName: '', lastName: '', suffix: '' }
    : record;
}

/** Random places of a page in what both forms have. */
async function placesOf(question: Question, count: number, number: number): Promise<number[]> {
  const { json } = await directory.fhir.search(
    question.type,
    [...Object.entries(question.fhir), ['_count', '0']],
    request,
  );
  const { total } = JSON.parse(Buffer.from(json).toString()) as { total: number };
  return Array.from({ length: number }, () => Math.floor(random() * Math.max(1, total - count + 1)));
}

type Parameters = readonly (readonly [string, string])[];

const nativeParameters = ({ native }: Question, count: number, offset: number): Parameters => [
  ...Object.entries(native),
  ['limit', String(count)],
  ['offset', String(offset)],
];

const fhirParameters = ({ fhir }: Question, count: number, offset: number): Parameters => [
  ...Object.entries(fhir),
  ['_count', String(count)],
  ['_offset', String(offset)],
];

async function cpuMicroseconds(
  places: readonly number[],
  ask: (offset: number) => Promise<DirectoryAnswer>,
): Promise<number> {
  const before = process.cpuUsage();
  for (const offset of places) await ask(offset);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / places.length;
}

async function compareInProcess(question: Question, count: number): Promise<string> {
  const pairs: Pair[] = [];
  for (let round = 0; round < rounds; round++) {
    const places = await placesOf(question, count, requests);
    pairs.push({
      native: await cpuMicroseconds(places, (offset) =>
        directory.search(nativeParameters(question, count, offset), caller),
      ),
      fhir: await cpuMicroseconds(places, (offset) =>
        directory.fhir.search(question.type, fhirParameters(question, count, offset), request),
      ),
    });
  }
  const native = medianOf(pairs.map((pair) => pair.native));
  const fhir = medianOf(pairs.map((pair) => pair.fhir));
  const ratio = medianOf(pairs.map((pair) => pair.fhir / pair.native));
  return `${native.toFixed(0)} µs, FHIR ${fhir.toFixed(0)} µs, ratio ${ratio.toFixed(2)}`;
}

function timingOf(latencies: readonly number[]): { readonly p50: number; readonly shown: string } {
  const sorted = latencies.toSorted((a, b) => a - b);
  const p50 = medianOf(sorted);
  const p95 = sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN;
  return { p50, shown: `p50 ${p50.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms` };
}

async function compareOverHttp(question: Question, count: number, target: HttpTarget): Promise<string> {
  const pathOf = (base: string, parameters: Parameters): string =>
    `${base}?${new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, value])).toString()}`;
  const places = await placesOf(question, count, rounds * requests);
  const paths = places.flatMap((offset) => [
    pathOf('/provider-directory/v2/providers', nativeParameters(question, count, offset)),
    pathOf(`/fhir/${question.type}`, fhirParameters(question, count, offset)),
  ]);
  const order = { connections: 1, seconds: 600, maxRequests: paths.length };
  const { latenciesMs } = await target.askPaths(paths, order);
  const native = timingOf(latenciesMs.filter((_, at) => at % 2 === 0));
  const fhir = timingOf(latenciesMs.filter((_, at) => at % 2 === 1));
  return `${native.shown}; FHIR ${fhir.shown}; ratio ${(fhir.p50 / native.p50).toFixed(2)}`;
}

runAsServed();
const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'openhisp-bench-fhir-'));
const opened = await openDirectory(folder);
const { directory } = opened;
if (options.folder === undefined) {
  const csv = join(folder, 'providers.csv');
  await writeSampleCsv(csv, Number(options.records), {
    change: options['own-npis'] ? makeOwnNpi : undefined,
  });
  await directory.importFiles({ files: await openInput(csv), kind: 'full' });
}
const before = process.cpuUsage();
await directory.fhir.search('Organization', [['_count', '0']], request);
console.log(`entities: ${Math.round(process.cpuUsage(before).user / 1000)} ms of CPU`);
// The code that writes resources is compiled before it is measured.
for (const { type, fhir } of questions)
  for (let time = 0; time < 10; time++)
    await directory.fhir.search(type, [...Object.entries(fhir), ['_count', '1000']], request);
const target = options.http ? await openHttpTarget(opened) : undefined;
for (const question of questions) {
  const name = `${question.type}?${new URLSearchParams(question.fhir).toString()}`;
  if (!new RegExp(options.only).test(name)) continue;
  for (const count of counts) {
    const compared =
      target === undefined
        ? await compareInProcess(question, count)
        : await compareOverHttp(question, count, target);
    console.log(`${name} _count=${count}: ${compared}`);
  }
}
await target?.close();
await opened.close();
if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
