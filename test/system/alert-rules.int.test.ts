import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startHisp } from '../../src/app/server/index.ts';
import { silentLog } from '../../src/core/index.ts';
import { loadConfig } from '../../src/platform/index.ts';

const file = path.resolve(import.meta.dirname, '../../deploy/prometheus-alerts.yml');
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

test('every metric of the alert rules is one that a server publishes', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'openhisp-alerts-'));
  const settings = { dataDir, 'http.port': '0', 'smtp.port': '0', 'directory.searchThreads': '0' };
  const hisp = await startHisp({ config: loadConfig({}, undefined, settings), log: silentLog });
  try {
    const rules = readFileSync(file, 'utf8');
    const names = new Set(rules.match(/\bopenhisp_[a-z_]+/g));
    assert.ok(names.size >= 8, [...names].join(', '));
    const published = await (await fetch(`${hisp.baseUrl}/metrics`)).text();
    for (const name of names) assert.match(published, new RegExp(`^# TYPE ${name} `, 'm'), name);
    // Each alert says what to do.
    assert.equal(rules.match(/- alert: /g)?.length, rules.match(/^ {10}action: \S/gm)?.length);
  } finally {
    await hisp.close();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('promtool accepts the rules', { skip: hasPromtool ? false : 'promtool is not installed' }, () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});
