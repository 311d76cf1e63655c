/** The command lines of docs/fhir.md, as somebody would type them one after the other. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { assertValidResource } from '../../support/fhir-validator.ts';
import { startTestDirectory, toCsv, type TestDirectory } from '../start-directory.ts';

const page = readFileSync(new URL('../../../docs/fhir.md', import.meta.url), 'utf8');

/** The shell blocks of the page; a line that ends in a backslash continues. */
const commands = [...page.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) =>
  block
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line !== ''),
);
/** Values that later lines use. */
const isPreparation = (line: string): boolean => /^(?:[A-Z]+=|fhir\(\))/.test(line);

let world: TestDirectory;
let variables: Record<string, string>;
before(async () => {
  world = await startTestDirectory();
  const clinic = {
    org_name: 'Heart Clinic',
    org_addr_1: '1 Main St',
    org_city: 'Boston',
    org_state: 'MA',
    org_zip: '02114',
    lat: 42.36,
    lng: -71.06,
  };
  const records = [
    {
      ...clinic,
      serv_direct_addr: 'ana.smith@direct.example.org',
      prov_npi: '1234567893',
      prov_first_name: 'Ana',
      prov_last_name: 'Smith',
      prov_spec_text: '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease Physician',
    },
    { ...clinic, serv_direct_addr: 'desk@direct.example.org' },
  ];
  await world.load(toCsv(records), 'full', { sourceName: 'npd' });
  const { clientId, clientSecret } = await world.oauth.clients.create({
    name: 'reader',
    scopes: ['provider-directory'],
    dataUseAcceptedAt: world.clock.now(),
  });
  const { baseUrl } = await world.serve();
  variables = { BASE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret };
});
after(() => world.close());

async function run(line: string): Promise<Record<string, unknown>> {
  const preparations = commands.slice(0, commands.indexOf(line)).filter(isPreparation);
  const script = ['set -euo pipefail', ...preparations, line].join('\n');
  const { stdout } = await promisify(execFile)('/bin/bash', ['-c', script], {
    env: { ...process.env, ...variables },
  });
  return JSON.parse(stdout) as Record<string, unknown>;
}

test('the page shows commands', () => {
  assert.ok(commands.filter((line) => !isPreparation(line)).length >= 10);
});

for (const line of commands.filter((one) => !isPreparation(one))) {
  test(line, async () => {
    const answer = await run(line);
    if (line.includes('$STATUS')) {
      const output = answer['output'] as { type: string }[];
      assert.deepEqual(
        output.map(({ type }) => type),
        ['Endpoint', 'PractitionerRole'],
      );
      return;
    }
    assertValidResource(answer as Parameters<typeof assertValidResource>[0]);
    if (line.includes('metadata')) assert.equal(answer['resourceType'], 'CapabilityStatement');
    else {
      assert.equal(answer['resourceType'], 'Bundle', JSON.stringify(answer));
      // The id of the page is no organization of this directory.
      assert.equal(Number(answer['total']) > 0, !line.includes('o-0123456789abcdef'), JSON.stringify(answer));
    }
  });
}
