import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toRefusal } from '../../src/app/http/index.ts';
import { CodedError, type ErrorKind } from '../../src/core/index.ts';
import { isConfigurationPageCurrent } from '../../tools/write-config-docs.ts';
import { collectErrors, isPageCurrent } from '../../tools/write-error-docs.ts';

const rows = await collectErrors();

/** House rule: kind decides the status; written out here so that a slip in the map shows. */
const statuses: Readonly<Record<ErrorKind, number>> = {
  'invalid-input': 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  'too-large': 413,
  untrusted: 422,
  'rate-limited': 429,
  internal: 500,
  unavailable: 503,
};

test('every code is unique, shouted, and begins with the name of its module', () => {
  assert.ok(rows.length > 100, `only ${rows.length} codes found`);
  assert.equal(new Set(rows.map((row) => row.code)).size, rows.length);
  for (const { code, module } of rows) {
    assert.match(code, /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/);
    const name = module.split('/').at(-1)?.replaceAll('-', '_').toUpperCase() ?? '';
    const singular = name.replace(/S$/, '');
    const first = name.split('_')[0] ?? '';
    assert.ok(
      [name, singular, first].some((prefix) => code.startsWith(`${prefix}_`)) || code.startsWith('INDEX_'),
      `${code} of ${module}`,
    );
  }
});

test('every code of every module maps to the status of its kind, and to nothing else', () => {
  for (const row of rows) {
    const error = new CodedError(
      { [row.code]: { kind: row.kind } },
      row.code,
      'a secret detail for operators',
    );
    const refusal = toRefusal(error);
    assert.equal(refusal.status, statuses[row.kind], row.code);
    assert.ok(!JSON.stringify(refusal).includes('a secret detail'), 'an operator text must not get out');
  }
});

test('transient is what can work later: unavailable and rate-limited always; what is wrong with the input never', () => {
  for (const row of rows) {
    if (row.kind === 'rate-limited') assert.ok(row.isTransient, row.code);
    if (['invalid-input', 'unauthenticated', 'forbidden', 'too-large'].includes(row.kind))
      assert.ok(!row.isTransient, row.code);
  }
});

test('the text for a stranger names no host, file or class', () => {
  for (const { code, publicMessage } of rows) {
    assert.match(publicMessage, /^[A-Z][^\n]{5,200}\.$/, code);
    assert.doesNotMatch(publicMessage, /Error:|\.ts\b|\/\w+\/\w+/, code);
  }
});

test('docs/api/errors.md is current (node tools/write-error-docs.ts)', async () => {
  assert.ok(await isPageCurrent());
});

test('docs/configuration.md is current (node tools/write-config-docs.ts)', () => {
  assert.ok(isConfigurationPageCurrent());
});
