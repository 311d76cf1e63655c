/** Every error code of the program as a client gets it over HTTP, compared with the page that documents the codes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { HispFastify } from '../../src/app/http/index.ts';
import { CodedError } from '../../src/core/index.ts';
import { isConfigurationPageCurrent } from '../../tools/write-config-docs.ts';
import { collectErrors, isPageCurrent } from '../../tools/write-error-docs.ts';
import { startOauthServer } from '../conformance/oauth-server.ts';

const rows = new Map((await collectErrors()).map((row) => [row.code, row]));

interface DocumentedError {
  readonly module: string;
  readonly code: string;
  readonly status: number;
  readonly isTransient: boolean;
  readonly text: string;
}

/** The rows of `docs/api/errors.md` below "Codes". */
function readDocumentedErrors(): DocumentedError[] {
  const page = readFileSync(path.resolve(import.meta.dirname, '../../docs/api/errors.md'), 'utf8');
  const found: DocumentedError[] = [];
  let module = '';
  for (const line of page.slice(page.indexOf('## Codes')).split('\n')) {
    if (line.startsWith('### ')) module = line.slice(4);
    const [, code = '', , status, transient, text = ''] = line.split('|').map((cell) => cell.trim());
    if (/^[A-Z][A-Z0-9_]+$/.test(code))
      found.push({ module, code, status: Number(status), isTransient: transient === 'yes', text });
  }
  return found;
}

const documented = readDocumentedErrors();
const operatorText = 'mx1.internal.example at /srv/data refused TypeError';

function refusingRoutes(app: HispFastify): void {
  app.get('/refuse/:code', async (request) => {
    const { code } = request.params as { code: string };
    const row = rows.get(code);
    assert.ok(row, code);
    throw new CodedError({ [code]: row }, code, operatorText, { cause: new Error(operatorText) });
  });
}

const server = await startOauthServer({ routes: [refusingRoutes] });

test('the page documents every code of every module once, with the name of its module in front', () => {
  assert.ok(documented.length > 100, `only ${documented.length} codes found`);
  assert.deepEqual(documented.map(({ code }) => code).sort(), [...rows.keys()].sort());
  for (const { code, module } of documented) {
    const name = module.split('/').at(-1)?.replaceAll('-', '_').toUpperCase() ?? '';
    const prefixes = [name, name.replace(/S$/, ''), name.split('_')[0] ?? '', 'INDEX'];
    assert.ok(
      prefixes.some((prefix) => code.startsWith(`${prefix}_`)),
      `${code} of ${module}`,
    );
  }
});

test('a client gets the documented status and text of each code, and nothing that is meant for operators', async () => {
  for (const { code, status, text } of documented) {
    const answer = await server.call(`/refuse/${code}`);
    assert.equal(answer.status, status, code);
    assert.deepEqual(answer.body['errors'], [{ field: '', reason: code.toLowerCase(), detail: text }], code);
    assert.match(text, /^[A-Z][^\n]{5,200}\.$/, code);
    assert.doesNotMatch(answer.text, /internal\.example|\/srv\/data|TypeError|\.ts\b/, code);
  }
});

test('only temporary errors are documented as transient, and every 503 has Retry-After', async () => {
  for (const { code, status, isTransient } of documented) {
    if ([400, 401, 403, 413].includes(status)) assert.ok(!isTransient, code);
    if (status === 429) assert.ok(isTransient, code);
    const retryAfter = (await server.call(`/refuse/${code}`)).headers.get('retry-after');
    assert.equal(retryAfter !== null, status === 503, code);
  }
});

test('docs/api/errors.md is current (node tools/write-error-docs.ts)', async () => {
  assert.ok(await isPageCurrent());
});

test('docs/configuration.md is current (node tools/write-config-docs.ts)', () => {
  assert.ok(isConfigurationPageCurrent());
});
