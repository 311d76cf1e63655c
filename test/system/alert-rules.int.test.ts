/** The alert rules and the dashboard of `deploy/`, against what a server publishes and against Prometheus' own parser. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startHisp } from '../../src/app/server/index.ts';
import { silentLog } from '../../src/core/index.ts';
import { loadConfig } from '../../src/platform/index.ts';

const deploy = path.resolve(import.meta.dirname, '../../deploy');
const rulesFile = path.join(deploy, 'prometheus-alerts.yml');
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const needsPromtool = { skip: hasPromtool ? false : 'promtool is not installed' };

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

const rules = readFileSync(rulesFile, 'utf8');
const dashboard = JSON.parse(readFileSync(path.join(deploy, 'grafana-dashboard.json'), 'utf8')) as {
  readonly uid: string;
  readonly panels: readonly Panel[];
};
const charts = dashboard.panels.filter(({ type }) => type !== 'row');
const expressions = charts.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

const namesIn = (text: string): Set<string> => new Set(text.match(/\b(?:openhisp|process)_[a-z_]+/g));

test('every metric of the alert rules and of the dashboard is one that a server publishes', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'openhisp-alerts-'));
  const settings = { dataDir, 'http.port': '0', 'smtp.port': '0', 'directory.searchThreads': '0' };
  const hisp = await startHisp({ config: loadConfig({}, undefined, settings), log: silentLog });
  try {
    const published = await (await fetch(`${hisp.baseUrl}/metrics`)).text();
    for (const [what, least, text] of [
      ['rules', 12, rules],
      ['dashboard', 25, expressions.join('\n')],
    ] as const) {
      const names = namesIn(text);
      assert.ok(names.size >= least, `${what}: ${[...names].join(', ')}`);
      for (const name of names) {
        // A histogram is published as three series.
        const family = name.replace(/_(?:bucket|count|sum)$/, '');
        assert.match(published, new RegExp(`^# TYPE (?:${name}|${family}) `, 'm'), `${what}: ${name}`);
      }
    }
  } finally {
    await hisp.close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
});

test('each alert names a remedy; each panel has its own position and data', () => {
  assert.equal(rules.match(/- alert: /g)?.length, rules.match(/^ {10}action: \S/gm)?.length);
  assert.ok(charts.length >= 20);
  for (const { title, targets = [] } of charts) assert.ok(targets.length > 0, title);
  const taken = new Map<string, string>();
  for (const { title, gridPos } of dashboard.panels)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(x < 24 && !taken.has(`${x}/${y}`), `${title} overlaps ${taken.get(`${x}/${y}`)}`);
        taken.set(`${x}/${y}`, title);
      }
});

test('the run-book has a row for each alert', () => {
  const runBook = readFileSync(path.resolve(deploy, '../docs/operations.md'), 'utf8');
  const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name);
  assert.ok(alerts.length > 20);
  assert.deepEqual(
    alerts.filter((name) => !runBook.includes(`\`${name}\``)),
    [],
  );
});

test('the rules and the dashboard cover verification of the directory', () => {
  for (const text of [rules, expressions.join('\n')])
    for (const name of ['addresses', 'domains_checked', 'domains_due', 'questions_total'])
      assert.ok(namesIn(text).has(`openhisp_verification_${name}`), name);
});

test('promtool accepts the rules', needsPromtool, () => checkRules(rulesFile));

test('promtool accepts the expressions of the dashboard', needsPromtool, async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-dashboard-'));
  t.after(() => rm(folder, { recursive: true, maxRetries: 5 }));
  const file = path.join(folder, 'rules.yml');
  const records = expressions.map(
    (expr, index) =>
      `      - record: dashboard:expression:${index}\n        expr: ${JSON.stringify(expr.replaceAll('$__rate_interval', '5m'))}\n`,
  );
  writeFileSync(file, `groups:\n  - name: dashboard\n    rules:\n${records.join('')}`);
  checkRules(file);
});

function checkRules(file: string): void {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
}
