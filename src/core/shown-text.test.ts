import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { escapeHidden, hasHidden, oneLine, quoteForShell } from './shown-text.ts';

const hostile = [
  '\u001b[2J\u001b]0;title\u0007',
  '\u009b31m',
  'a\u202eb\u2066c',
  'x\r\ny\tz',
  '\u2028\u2029\u200b\ufeff\u00ad',
  '\u{e0041}',
  '\ud800',
  '\u0000\u007f',
];

test('nothing that a terminal obeys or that hides text is left, and JSON stays the same JSON', () => {
  for (const text of hostile) {
    assert.ok(hasHidden(text), JSON.stringify(text));
    assert.ok(!hasHidden(oneLine(text)), JSON.stringify(text));
    assert.doesNotMatch(escapeHidden(text), /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    assert.equal(JSON.parse(escapeHidden(JSON.stringify({ [text]: text }, undefined, 2)))[text], text);
  }
  for (const text of ['Zoë Müller-Łącki', '東京', "O'Brien", '<b>&', 'a b'])
    assert.deepEqual([oneLine(text), escapeHidden(text), hasHidden(text)], [text, text, false]);
});

test('a shell reads the quoted word as it was', () => {
  const words = [
    "o'brien@direct.example.org",
    '$(id)`id`',
    'a b',
    '',
    '-x',
    '~',
    '*',
    '!',
    '\\',
    '"',
    'a\nb',
    "'",
    '#x',
    'a;b|c&d>e',
  ];
  const command = `printf '%s\\0' ${words.map(quoteForShell).join(' ')}`;
  const read = execFileSync('sh', ['-c', command], { encoding: 'utf8' }).split('\0');
  assert.deepEqual(read, [...words, '']);
  assert.equal(quoteForShell('name@direct.example.org'), 'name@direct.example.org');
});
