import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { auditActions } from './actions.ts';

const root = path.resolve(import.meta.dirname, '../..');
/** How events are written in the sources: with the action as a text where it is recorded. */
const written =
  /\b(?:action: |(?:record(?:In|Now|Query|Miss|List|Change|Refusal)?|change|changed)\((?:tx, )?\s*)'([a-z]+\.[a-z-]+)'/g;

test('every action that is recorded has a group and plain words', () => {
  const used = new Set<string>();
  for (const file of globSync('{service,app}/**/*.ts', { cwd: root }))
    if (!file.endsWith('.test.ts'))
      for (const [, action = ''] of readFileSync(path.join(root, file), 'utf8').matchAll(written))
        used.add(action);
  assert.ok(used.size > 60, `${used.size}`);
  assert.deepEqual(
    [...used].filter((action) => auditActions[action] === undefined),
    [],
  );
});
