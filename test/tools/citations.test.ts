import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  countsBlock,
  findCitationProblems,
  findPageProblems,
  readPage,
  renewCounts,
  testedIds,
} from '../../tools/citations.ts';

const text = `# Page
<!-- counts -->
<!-- end of counts -->
| Document | Title | Status | What |
|---|---|---|---|
| RFC 8098 | MDNs | partial | some |
| IHE ITI TF-3 | Metadata | yes | |

| Heading |
|---|
| Directory spec: Radius rules |

| Id | Level | Requirement | Status | Where |
|---|---|---|---|---|
| AS-30 | MUST | Wrap | yes | lib/mime |
| AS-31 | SHOULD | Name | no | not wanted |
`;
const page = readPage(text);

test('citations of listed documents, headings, decisions and ids pass', () => {
  const cited =
    '// RFC 8098 §3.2.6, IHE ITI TF-3 §4.2, Directory spec: Radius rules apply, Decision 0007, AS-30 to AS-31; SHA-256, UTF-8, AES-128';
  assert.deepEqual(findCitationProblems([{ name: 'a.ts', text: cited }], page, new Set(['0007'])), []);
});

test('citations of anything else are reported with file and line', () => {
  const cited =
    '\n// RFC 9999\n// Decision 0099\n// MDN-01a\n// Messaging spec: Send message\n// IHE ITI TF-2';
  assert.deepEqual(findCitationProblems([{ name: 'a.ts', text: cited }], page, new Set(['0007'])), [
    'a.ts:2: cites RFC 9999, which is not listed',
    'a.ts:3: cites Decision 0099, which does not exist',
    'a.ts:4: cites MDN-01a, which is not listed',
    'a.ts:5: cites "Messaging spec: Send message", which is no heading',
    'a.ts:6: cites IHE ITI TF-2, which is not listed',
  ]);
});

test('ids count as tested only in the strings of a test file', () => {
  const source = {
    name: 'a.test.ts',
    text: "// AS-30\ntest('AS-31, AS-32: x', () => {});\ntest(\n  `MDN-01: y`,\n);",
  };
  assert.deepEqual([...testedIds([source])].toSorted(), ['AS-31', 'AS-32', 'MDN-01']);
  assert.equal(testedIds([{ ...source, name: 'a.ts' }]).size, 0);
});

test('the page must be true: a MUST with yes has a test, counts are fresh, other statuses have a reason', () => {
  const tested = new Set(['AS-30']);
  const fresh = renewCounts(text, countsBlock(page));
  assert.deepEqual(findPageProblems(fresh, page, tested), []);
  assert.deepEqual(findPageProblems(fresh, page, new Set()), [
    'AS-30 is a MUST with status yes, but no test names it',
  ]);
  assert.deepEqual(findPageProblems(text, page, tested), ['the counts are stale; renew them with --write']);
  const odd = fresh.replace('no | not wanted', 'no | ').replace('partial | some', 'nearly | some');
  assert.deepEqual(findPageProblems(odd, readPage(odd), tested), [
    'RFC 8098 has no known status',
    'AS-31 is no without a reason',
  ]);
});
