/** The chapter for a SIEM names the fields and actions that there are. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { auditEntry } from '../../src/app/console/contract/index.ts';
import { actionText } from '../../src/service/audit/index.ts';

const chapter = readFileSync(path.resolve(import.meta.dirname, '../../docs/siem.md'), 'utf8');
const codesOf = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => [code]);

test('the chapter for a SIEM has every field of an audit row, and no action that there is not', () => {
  const fields = chapter.split('\n').flatMap((line) => /^\| `(\w+)` \|/.exec(line)?.[1] ?? []);
  assert.deepEqual(fields.toSorted(), Object.keys(auditEntry.properties).toSorted());
  const rules = chapter.slice(chapter.indexOf('## What to alert on'), chapter.indexOf('## The log'));
  const actions = codesOf(rules).filter((code) => /^[a-z-]+\.[a-z-]+$/.test(code));
  assert.ok(actions.length > 25, `${actions.length} actions`);
  for (const action of actions) assert.notEqual(actionText(action), action);
});
