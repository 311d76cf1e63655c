/** The files of `deploy/` that an installation copies: what can be checked of them without their own machine. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { startHisp } from '../../src/app/server/index.ts';
import { silentLog } from '../../src/core/index.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { needsPrograms, runProgram } from '../support/processes.ts';
import { makeTlsCertificate } from '../support/tls-certificate.ts';

const deploy = path.resolve(import.meta.dirname, '../../deploy');
const read = (name: string): string => readFileSync(path.join(deploy, name), 'utf8');
const units = ['openhisp.service', 'openhisp-backup.service', 'openhisp-backup.timer'];

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-deploy-'));
  t.after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  return folder;
}

test('systemd takes the units, and calls them well protected', needsPrograms('systemd-analyze'), (t) => {
  const folder = temporaryFolder(t);
  for (const unit of units) {
    // It looks for the program that a unit starts.
    const text = read(unit).replaceAll('/opt/openhisp/node_modules/.bin/node', process.execPath);
    writeFileSync(path.join(folder, unit), text);
  }
  const files = units.map((unit) => path.join(folder, unit));
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], { encoding: 'utf8' });
  assert.equal(verified.status, 0, verified.stderr);
  assert.equal(verified.stderr, '');
  for (const file of files.filter((one) => one.endsWith('.service'))) {
    // 25 stands for 2.5 of 10; unprotected services have 9.6.
    const options = ['security', '--offline=true', '--threshold=25', '--no-pager', file];
    const { status, stdout } = spawnSync('systemd-analyze', options, { encoding: 'utf8' });
    assert.equal(status, 0, stdout.slice(-500));
  }
});

test('SEC-05: a crash of a service writes its memory to no file', () => {
  for (const unit of units.filter((name) => name.endsWith('.service')))
    assert.match(read(unit), /^LimitCORE=0$/m, unit);
});

test('every line of the example of settings is a setting with a valid value, those in comments too', (t) => {
  const lines = read('openhisp.env.example').split('\n');
  const parse = (some: readonly string[]) =>
    Object.fromEntries(some.map((line) => line.split('=') as [string, string]));
  const active = lines.filter((line) => line.startsWith('OPENHISP_'));
  assert.ok(active.length > 10);
  const dataDir = temporaryFolder(t);
  const config = loadConfig(parse(active), undefined, { dataDir });
  assert.deepEqual([config.smtp.port, config.http.port], [25, 443]);
  const all = lines.filter((line) => /^#?OPENHISP_/.test(line)).map((line) => line.replace(/^#/, ''));
  assert.ok(all.length > active.length + 5);
  assert.equal(loadConfig(parse(all), undefined, { dataDir }).smtp.relayUser, 'hisp');
});

test('the command for operators is a valid script', () => {
  const { status, stderr } = spawnSync('/bin/sh', ['-n', path.join(deploy, 'openhisp')], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
});

test('the command for operators reads the settings as systemd does, whatever is in a value', (t) => {
  const folder = temporaryFolder(t);
  const values = {
    OPENHISP_STORAGE_URL: 'postgres://openhisp@db:5432/openhisp?sslmode=verify-full&sslrootcert=/etc/ca.pem',
    PGPASSWORD: 'p$HOME&`id`;(x)#\'"!',
    OPENHISP_CONSOLE_OIDC_NAME: 'Example Health',
    QUOTED: '"as systemd takes it"',
    EMPTY: '',
  };
  const settings = path.join(folder, 'openhisp.env');
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  // The last line has no end.
  const spaced = ['PADDED = a b \t', 'FROM_WINDOWS="c d"\r', 'BLANKS=" e "', 'export OTHER=1', 'NO-NAME=1'];
  writeFileSync(settings, ['# a comment', '', '#OFF=1', ...lines, ...spaced, '  INDENTED=1'].join('\n'));
  const script = read('openhisp')
    .replace('/etc/openhisp/openhisp.env', settings)
    .replace(/exec setpriv .*\\\n.*$/m, 'exec env -0');
  assert.ok(script.includes('exec env -0'));
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', script], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], SUDO_USER: 'ann' },
  });
  assert.equal(status, 0, stderr);
  const env = Object.fromEntries(
    stdout.split('\0').map((line) => [line.replace(/=.*/s, ''), line.replace(/^[^=]*=/, '')]),
  );
  for (const [name, value] of Object.entries({
    ...values,
    QUOTED: 'as systemd takes it',
    PADDED: 'a b',
    FROM_WINDOWS: 'c d',
    BLANKS: ' e ',
    INDENTED: '1',
    OPENHISP_OPERATOR: 'ann',
    HOME: '/var/lib/openhisp',
  }))
    assert.equal(env[name], value);
  for (const name of ['OFF', 'OTHER', 'export OTHER', 'NO-NAME']) assert.equal(env[name], undefined, name);
});

test('the health check of the image distinguishes a server that answers, by HTTP and HTTPS, from one that does not', async (t) => {
  const [, json = ''] =
    /^HEALTHCHECK [^[]*CMD (\[.*\])$/m.exec(read('Containerfile').replaceAll('\\\n', '')) ?? [];
  const [node, ...words] = JSON.parse(json) as string[];
  assert.equal(node, 'node');
  const check = async (env: Readonly<Record<string, string>>) =>
    (await runProgram(process.execPath, words, { env })).status;
  const folder = temporaryFolder(t);
  const tlsFile = path.join(folder, 'tls.pem');
  const pem = makeTlsCertificate('hisp.example.org');
  writeFileSync(tlsFile, pem);
  for (const tls of [{}, { 'http.tlsKeyFile': tlsFile, 'http.tlsCertificateFile': tlsFile }]) {
    const settings = { 'http.port': '0', 'smtp.port': '0', 'directory.searchThreads': '0', ...tls };
    const config = loadConfig({}, undefined, {
      dataDir: path.join(folder, `data-${Object.keys(tls).length}`),
      ...settings,
    });
    const hisp = await startHisp({ config, log: silentLog });
    const env = {
      OPENHISP_HTTP_PORT: new URL(hisp.baseUrl).port,
      ...('http.tlsKeyFile' in tls && { OPENHISP_HTTP_TLS_KEY_FILE: tlsFile }),
    };
    try {
      assert.equal(await check(env), 0);
    } finally {
      await hisp.close();
    }
    assert.equal(await check(env), 1);
  }
});
