import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { groupRuns, planRuns, readTestFile, type Tier } from '../../tools/test-plan.ts';

const root = mkdtempSync(path.join(tmpdir(), 'openhisp-plan-'));
after(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
const files = {
  'test/support/storage.ts': '',
  'test/support/rounds.ts': '',
  'test/support/browser.ts': '',
  'test/service.ts': "import { openTestStorage } from './support/storage.ts';",
  'test/pure.test.ts': "import { test } from 'node:test';",
  'test/fetch.test.ts': '// needsOwnProcess: replaces fetch.',
  'test/random.test.ts': "import { rounds } from './support/rounds.ts';",
  'test/service.int.test.ts': "import { start } from './service.ts';",
  'test/queue.sql.test.ts': "import './service.ts';\nimport { rounds } from './support/rounds.ts';",
  'test/both.test.ts': "import { needsBothEngines } from './support/storage.ts';\nneedsBothEngines();",
  'test/sign-in.int.test.ts': "import './service.ts';\nimport './support/browser.ts';",
  'test/screens.slow.test.ts': "import './service.ts';\nimport './support/browser.ts';",
  'test/kills.slow.test.ts': "import { start } from './service.ts';",
  'test/load.alone.slow.test.ts': "import { start } from './service.ts';",
};
for (const [name, text] of Object.entries(files)) {
  mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
  writeFileSync(path.join(root, name), text);
}
const found = Object.keys(files)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => readTestFile(root, name));
const runsOf = (tier: Tier): string[] =>
  planRuns(found, tier).runs.map(
    ({ file, onPostgres }) => `${path.basename(file, '.test.ts')}${onPostgres ? ' on PostgreSQL' : ''}`,
  );

describe('the tiers of the tests', () => {
  const quick = [
    'pure',
    'fetch',
    'random',
    'service.int',
    'queue.sql',
    'queue.sql on PostgreSQL',
    'both',
    'sign-in.int',
  ];
  const others = [
    'screens.slow',
    'kills.slow',
    'kills.slow on PostgreSQL',
    'load.alone.slow',
    'load.alone.slow on PostgreSQL',
    'service.int on PostgreSQL',
    'sign-in.int on PostgreSQL',
  ];

  test('the quick one leaves out slow files, and PostgreSQL but for files of statements', () => {
    assert.deepEqual(runsOf('quick'), quick);
  });

  test('the full one runs everything on both engines, slow files first', () => {
    const full = runsOf('full');
    assert.deepEqual(full.toSorted(), [...quick, ...others].toSorted());
    assert.deepEqual(full.slice(0, 5), others.slice(0, 5));
  });

  test('after the quick one, what is left is run, and random tests again with all their rounds', () => {
    const [rest, isQuick] = [runsOf('rest'), new Set(quick)];
    assert.deepEqual(
      rest.filter((run) => isQuick.has(run)),
      ['random', 'queue.sql'],
    );
    assert.deepEqual(rest.filter((run) => !isQuick.has(run)).toSorted(), others.toSorted());
  });

  test('neighbors share a process of an engine; slow files, and those that say so, have their own', () => {
    const groups = groupRuns(planRuns(found, 'full').runs, root).map(({ files, onPostgres }) =>
      [
        ...files.map((file) => path.basename(file, '.test.ts')),
        ...(onPostgres ? ['on PostgreSQL'] : []),
      ].join(' '),
    );
    assert.deepEqual(groups.slice(0, 5), others.slice(0, 5));
    assert.deepEqual(groups.slice(5), [
      'pure random service.int queue.sql sign-in.int',
      'fetch',
      'service.int queue.sql sign-in.int on PostgreSQL',
      'both',
    ]);
  });

  test('what is left is said', () => {
    assert.deepEqual(planRuns(found, 'quick').left, [
      'left to npm run test:full: 3 slow files, 2 files on PostgreSQL, the other rounds of 2 files of random tests',
      '  test/screens.slow.test.ts',
      '  test/kills.slow.test.ts',
      '  test/load.alone.slow.test.ts',
    ]);
    assert.deepEqual(planRuns(found, 'full').left, []);
  });
});
