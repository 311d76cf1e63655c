import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectLines } from '../../../test/support/collect-lines.ts';
import { loadConfig } from '../../platform/index.ts';
import { createOpenFileWatch } from './watch-open-files.ts';

function start(soft: string, settings: Readonly<Record<string, string>> = {}) {
  const { log, lines } = collectLines();
  let open: number | Error = 100;
  const watch = createOpenFileWatch({
    config: loadConfig({}, undefined, { dataDir: 'data', ...settings }),
    log,
    readLimits: async () =>
      `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft.padEnd(20)} 524288               files\n`,
    countOpen: async () => {
      if (typeof open === 'number') return open;
      throw open;
    },
  });
  return {
    lines,
    async at(count: number | Error) {
      open = count;
      await watch.run();
      return watch.degraded().length;
    },
  };
}

test('a limit of open files below the configured connections is logged once', async () => {
  for (const soft of ['65536', 'unlimited', '']) {
    const { at, lines } = start(soft);
    await at(100);
    assert.deepEqual(lines, []);
  }
  const low = start('1024');
  await low.at(100);
  await low.at(100);
  assert.equal(low.lines.length, 1);
  assert.match(low.lines.join(), /^warn the limit of open files is too low for http\.maxConnections/);
  const fits = start('1300', { 'http.maxConnections': '200', 'smtp.maxConnections': '40' });
  await fits.at(100);
  assert.deepEqual(fits.lines, []);
});

test('a limit that is reached is one line and a readiness detail, until enough files are closed', async () => {
  const { at, lines } = start('65536');
  assert.equal(await at(50_000), 0);
  assert.equal(await at(Object.assign(new Error('too many open files'), { code: 'EMFILE' })), 1);
  assert.equal(await at(65_000), 1);
  // Neither is known.
  assert.equal(await at(new Error('no /proc')), 1);
  assert.equal(await at(55_000), 1);
  assert.equal(lines.length, 1);
  assert.match(lines.join(), /^error nearly all files that the system allows are open/);
  assert.equal(await at(50_000), 0);
  assert.equal(await at(60_000), 1);
  assert.equal(lines.length, 2);
});
