/** Files that were read wrongly once, with their right values. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import {
  openInput,
  readTaxonomy,
  type ImportRequest,
  type LoadReport,
} from '../../src/service/directory/index.ts';
import { testFhir } from './fhir/start-fhir.ts';
import { startTestDirectory, type TestDirectory } from './start-directory.ts';

const folder = path.join(import.meta.dirname, '../fixtures/found/directory');

let world: TestDirectory;
beforeEach(async () => {
  world = await startTestDirectory({ pollIntervalMs: 60_000 });
});
afterEach(() => world.close());

async function importFiles(names: readonly string[], more: Partial<ImportRequest> = {}): Promise<LoadReport> {
  const files = [];
  for (const name of names) files.push(...(await openInput(path.join(folder, name))));
  return world.directory.importFiles({ files, kind: 'full', acceptLoss: true, ...more });
}

async function values(...fields: readonly string[]): Promise<string[]> {
  await world.directory.refresh();
  const { body } = await world.search({ limit: 1000, sort_by: 'serv_direct_addr' });
  return (body.providers ?? []).map((record) => fields.map((field) => record[field]).join('|'));
}

test('a directory of a trust organization and a national one have one record per address', async () => {
  await importFiles(['dt.csv'], { sourceName: 'directtrust' });
  await importFiles(['npdlike.csv'], { sourceName: 'npd' });
  assert.deepEqual(
    await values(
      'serv_direct_addr',
      'prov_npi',
      'prov_first_name',
      'prov_last_name',
      'prov_suffix',
      'org_name',
      'org_phone',
    ),
    [
      'alex.sample@direct.clinic.example|1245319599|Alex|Sample|MD|Example Clinic|518-555-0100',
      'front.desk@direct.clinic.example|1234567893||||Example Clinic|518-555-0100',
      "jo.obrien@direct.clinic.example|1234567893|Jo|O'Brien||Example Clinic|",
      'n.a@direct.clinic.example||Jo|Na||Null Clinic|',
    ],
  );
});

test('NPPES: taxonomies, names, deactivations, affiliations and addresses as people type them', async () => {
  const [codes] = await openInput(path.join(folder, 'nucc.csv'));
  assert.ok(codes);
  const report = await importFiles(
    ['npidata_pfile_20050523-20261108.csv', 'endpoint_pfile_20050523-20261108.csv'],
    { sourceName: 'nppes', taxonomy: await readTaxonomy(codes) },
  );
  assert.deepEqual(report.refused, { direct_address_invalid: { count: 1, lines: [13] } });
  const doctor = '2.16.840.1.113883.6.101:NUCC:208D00000X:General Practice Physician';
  const heart = '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease Physician';
  const found = await values(
    'serv_direct_addr',
    'prov_npi',
    'prov_last_name',
    'prov_suffix',
    'org_name',
    'org_city',
    'org_zip',
  );
  assert.deepEqual(found, [
    'clinic@direct.t.example|1234567059|||THE LEGAL HOLDING CO LLC (SUNNYSIDE FAMILY CLINIC)|BOSTON|02114-1234',
    'pat0@direct.t.example|1234567000|DOE0|M.D.||BOSTON|02114-1234',
    'pat10@direct.t.example|1234567109|DOE10|M.D.||BOSTON|02114-1234',
    'pat11@direct.t.example|1234567117|DOE11|M.D.||SALEM|01970-1234',
    'pat12@direct.t.example|1234567125|DOE12|M.D.|HOSP A|SALEM|01970',
    'pat13@direct.t.example|1234567133|DOE13|M.D.||BOSTON|02114-1234',
    'pat13b@direct.t.example|1234567133|DOE13|M.D.||BOSTON|02114-1234',
    'pat1@direct.t.example|1234567018|DOE1|M.D.||BOSTON|02114-1234',
    'pat3@direct.t.example|1234567034|DOE3|M.D.||BOSTON|02114-1234',
    'pat6@direct.t.example|1234567067||M.D.||BOSTON|02114-1234',
    'pat7@direct.t.example|1234567075|DOE7|JR.||BOSTON|02114-1234',
    'pat8@direct.t.example|1234567083|DOE8|M.D.||OTTAWA|',
    'pat9@direct.t.example|1234567091|DOE9|M.D.||AGUADA|00602-1234',
  ]);
  const specialties = new Map(
    (await values('prov_npi', 'prov_spec_text')).map((text) => text.split('|') as [string, string]),
  );
  assert.deepEqual([specialties.get('1234567018'), specialties.get('1234567000')], [heart, doctor]);
  const fhir = testFhir(world);
  const [organization] = await fhir.all('Organization?identifier=http://hl7.org/fhir/sid/us-npi|1234567059');
  assert.equal(organization?.['name'], 'THE LEGAL HOLDING CO LLC (SUNNYSIDE FAMILY CLINIC)');
  assert.equal((await fhir.get('PractitionerRole?specialty=207RC0000X')).body.total, 1);
});

test('names of all kinds are loaded as they are, and found as they are written', async () => {
  const report = await importFiles(['names.csv']);
  assert.deepEqual([report.loaded, report.refused], [85, {}]);
  const all = await values('serv_direct_addr', 'prov_last_name', 'org_name');
  for (const text of all) {
    const [address = '', name = '', organization = ''] = text.split('|');
    const { body } = await world.search({
      prov_last_name: name,
      org_name: organization,
      serv_direct_addr: address,
    });
    assert.ok(
      body.providers?.some((record) => record['serv_direct_addr'] === address),
      text,
    );
  }
});

test('ZIP codes that a spreadsheet cut, and a line for the spreadsheet', async () => {
  await importFiles(['shortzip.csv']);
  assert.deepEqual(await values('serv_direct_addr', 'org_zip'), [
    'a@t.example|',
    'b@t.example|00602',
    'c@t.example|00681-4041',
    'd@t.example|02114',
    'e@t.example|02114',
    'f@t.example|02114',
  ]);
  await importFiles(['sep.csv']);
  assert.deepEqual(await values('serv_direct_addr', 'org_name'), ['a1@direct.t.example|Clinic 1']);
});
