/**
 * FHIR searches compared with the native search for the same question: `node bench/directory/fhir.ts [--records 300000]`.
 * Turn and turn about in one process, by CPU time of the whole process, since the machine has other work. Prints one line
 * for each question: microseconds per request natively and as FHIR, and the median of the ratios.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openInput, type DirectoryAnswer, type ResourceType } from '../../src/service/directory/index.ts';
import { openDirectory, writeSampleCsv } from './import.ts';
import { medianOf } from './median.ts';

const { values: options } = parseArgs({
  options: { records: { type: 'string', default: '300000' } },
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

const folder = mkdtempSync(join(tmpdir(), 'openhisp-bench-fhir-'));
const rounds = 15;
/** Requests of one measurement. */
const requests = 20;
const caller = { client: { clientId: 'bench', limits: {}, dataUseAcceptedAt: new Date() } };

async function cpuMicroseconds(ask: () => Promise<DirectoryAnswer>): Promise<number> {
  const before = process.cpuUsage();
  for (let count = 0; count < requests; count++) await ask();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}

const csv = join(folder, 'providers.csv');
await writeSampleCsv(csv, Number(options.records));
const opened = await openDirectory(folder);
const { directory } = opened;
await directory.importFiles({ files: await openInput(csv), kind: 'full' });
const request = { caller, base: 'http://127.0.0.1/fhir', isStrict: true };
const before = process.cpuUsage();
await directory.fhir.search('Organization', [['_count', '0']], request);
console.log(`entities: ${Math.round(process.cpuUsage(before).user / 1000)} ms of CPU`);
// The code that writes resources is compiled before it is measured.
for (const { type, fhir } of questions)
  for (let time = 0; time < 10; time++)
    await directory.fhir.search(type, [...Object.entries(fhir), ['_count', '1000']], request);
for (const { type, fhir, native } of questions) {
  for (const count of ['10', '100', '1000']) {
    const natively = [...Object.entries(native), ['limit', count] as const];
    const asFhir = [...Object.entries(fhir), ['_count', count] as const];
    const pairs: { native: number; fhir: number }[] = [];
    for (let round = 0; round < rounds; round++) {
      const nativeTime = await cpuMicroseconds(() => directory.search(natively, caller));
      pairs.push({
        native: nativeTime,
        fhir: await cpuMicroseconds(() => directory.fhir.search(type, asFhir, request)),
      });
    }
    const ratio = medianOf(pairs.map((pair) => pair.fhir / pair.native));
    const [a, b] = [medianOf(pairs.map((pair) => pair.native)), medianOf(pairs.map((pair) => pair.fhir))];
    const query = new URLSearchParams(fhir).toString();
    console.log(
      `${type}?${query} _count=${count}: ${a.toFixed(0)} µs, FHIR ${b.toFixed(0)} µs, ratio ${ratio.toFixed(2)}`,
    );
  }
}
await opened.close();
rmSync(folder, { recursive: true, force: true });
