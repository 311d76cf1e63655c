import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { silentLog } from '../../core/index.ts';
import { loadConfig, PlatformError } from '../../platform/index.ts';
import { startHisp } from './start-hisp.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-listeners-'));
const other = createServer();
let taken = 0;
before(async () => {
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  taken = (other.address() as AddressInfo).port;
});
after(() => {
  other.close();
  rmSync(folder, { recursive: true, maxRetries: 5 });
});

async function problemWith(settings: Readonly<Record<string, string>>): Promise<string> {
  const config = loadConfig({}, undefined, {
    dataDir: folder,
    'http.port': '0',
    'smtp.port': '0',
    'directory.searchThreads': '0',
    ...settings,
  });
  try {
    await (await startHisp({ config, log: silentLog })).close();
  } catch (error) {
    assert.ok(error instanceof PlatformError && error.code === 'PLATFORM_CONFIG_INVALID', String(error));
    return error.message;
  }
  assert.fail(`started with ${JSON.stringify(settings)}`);
}

test('a port in use is named by its setting, of every listener', async () => {
  for (const [setting, more] of [
    ['http.port', {}],
    ['http.metricsPort', {}],
    ['smtp.port', {}],
    ['console.port', {}],
    ['dns.port', { 'dns.isServing': 'true' }],
    ['ldap.port', { 'ldap.isServing': 'true' }],
  ] as const)
    assert.equal(
      await problemWith({ ...more, [setting]: String(taken) }),
      `The server is not started:\n  ${setting}: another program listens on port ${taken} of 127.0.0.1. ` +
        'Stop it, or set another port.',
    );
});

test('an address that this machine does not have is named by its setting', async () => {
  assert.match(
    await problemWith({ 'smtp.host': '192.0.2.1' }),
    /\n {2}smtp\.host: 192\.0\.2\.1 is not an address of this machine\.$/,
  );
});
