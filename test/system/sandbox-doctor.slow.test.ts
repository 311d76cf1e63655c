/** `openhisp doctor` on the sandbox's HISP, as the commands that the sandbox prints name it. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Finding } from '../../src/app/doctor/index.ts';
import { runProgram } from '../support/processes.ts';
import { openTestSandbox, type TestSandbox } from './sandbox-fixture.ts';

const cli = path.resolve(import.meta.dirname, '../../src/app/cli/main.ts');

describe('openhisp doctor on the sandbox', () => {
  let world: TestSandbox;

  before(async () => {
    world = await openTestSandbox();
  });

  after(() => world.close());

  async function examine(): Promise<{ status: number | null; findings: readonly Finding[] }> {
    const url = world.databases[0]?.location.url;
    const { status, stdout, stderr } = await runProgram(
      process.execPath,
      [
        cli,
        'doctor',
        '--json',
        '--timeout',
        '5',
        '--time-server',
        '127.0.0.1:1',
        '--data-dir',
        world.sandbox.dataDir,
      ],
      { env: { ...process.env, ...(url !== undefined && { OPENHISP_STORAGE_URL: url }) } },
    );
    assert.notEqual(stdout.length, 0, stderr.toString());
    return { status, findings: (JSON.parse(stdout.toString()) as { findings: readonly Finding[] }).findings };
  }

  it('reports no error while the sandbox runs, and checks its name server and mail server', async () => {
    const { findings } = await examine();
    assert.deepEqual(
      findings.filter(({ severity }) => severity === 'error'),
      [],
    );
    // The sandbox's mail server has no TLS certificate.
    assert.deepEqual(
      findings.filter(({ severity }) => severity === 'warning').map(({ check }) => check),
      ['tls'],
    );
    for (const check of ['ns', 'mx', 'cert', 'smtp'])
      assert.ok(
        findings.some((finding) => finding.check === check && finding.severity === 'ok'),
        check,
      );
  });

  it('reports errors without the settings that the sandbox wrote', async () => {
    await rm(path.join(world.sandbox.dataDir, 'config.json'));
    await rm(path.join(world.sandbox.dataDir, 'sandbox-ports.json'));
    const { status, findings } = await examine();
    assert.equal(status, 1);
    assert.ok(findings.some(({ check, severity }) => check === 'mx' && severity === 'error'));
  });
});
