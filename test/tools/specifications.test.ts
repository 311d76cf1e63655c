import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readPage } from '../../tools/citations.ts';

const text = readFileSync(path.resolve(import.meta.dirname, '../../docs/specifications.md'), 'utf8');

test('VER-03: the page names the guides that are supported, with their editions', () => {
  const section = text.split('\n## ').find((part) => part.startsWith('Supported guides')) ?? '';
  const wanted: [guide: string, edition: string][] = [
    ['Applicability Statement', 'v1.3'],
    ['Delivery Notification in Direct', 'v1.0'],
    ['XDR and XDM for Direct Messaging', 'v1.0'],
    ['Direct Edge Protocols', 'v1.1'],
    ['Expressing Context', 'v1.1'],
    ['Trust Bundle Distribution', 'v1.0'],
  ];
  for (const [guide, edition] of wanted) {
    const row = section.split('\n').find((line) => line.includes(guide)) ?? '';
    assert.ok(row.includes(edition), guide);
  }
});

test('every requirement of the checklist has its own row', () => {
  const { requirements } = readPage(text);
  assert.equal(requirements.size, 216);
  for (const { id, level } of requirements.values()) {
    assert.match(level, /^(?:MUST|MUST NOT|SHOULD|MAY|DECIDE|note)$/, id);
  }
});
