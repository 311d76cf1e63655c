/**
 * Writes `docs/api/errors.md` from the error tables of all modules, so that the page cannot drift from the code.
 *
 * Usage: `node tools/write-error-docs.ts [--check]`; with `--check` nothing is written and a stale page exits 1.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { responseKey, statusOfKind } from '../src/app/http/envelope.ts';
import { fieldReasons } from '../src/app/http/envelope.ts';
import { CodedError, type ErrorKind, type ErrorTable } from '../src/core/index.ts';

const root = path.resolve(import.meta.dirname, '..');
const page = path.join(root, 'docs/api/errors.md');

/** One code with its kind, status and texts. */
export interface ErrorRow {
  readonly module: string;
  readonly code: string;
  readonly kind: ErrorKind;
  readonly isTransient: boolean;
  readonly httpStatus: number;
  readonly publicMessage: string;
}

/** Every code of every `errors.ts`, by module and code. */
export async function collectErrors(): Promise<readonly ErrorRow[]> {
  const rows: ErrorRow[] = [];
  for (const file of globSync('src/**/errors.ts', { cwd: root }).sort()) {
    if (file === path.join('src', 'core', 'errors.ts')) continue;
    const exported = (await import(pathToFileURL(path.join(root, file)).href)) as Record<string, unknown>;
    const module = path.dirname(file).split(path.sep).slice(1).join('/');
    for (const [name, value] of Object.entries(exported)) {
      if (name.endsWith('Errors') && isTable(value)) rows.push(...readTable(module, value));
    }
  }
  return rows;
}

function isTable(value: unknown): value is ErrorTable {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((row) => typeof row === 'object' && row !== null && 'kind' in row)
  );
}

function readTable(module: string, table: ErrorTable): ErrorRow[] {
  return Object.keys(table)
    .sort()
    .map((code) => {
      const { kind, isTransient, publicMessage } = new CodedError(table, code, '');
      return { module, code, kind, isTransient, publicMessage, httpStatus: statusOfKind[kind] };
    });
}

/** The page as it must be. */
export function formatErrors(rows: readonly ErrorRow[]): string {
  const modules = [...new Set(rows.map((row) => row.module))];
  return [
    '# Errors',
    '',
    'Written by `node tools/write-error-docs.ts` from the tables in the code; do not edit.',
    '',
    'A refusal of the REST API is `{"status":"Error","code","message","errors":[{"field","reason","detail"}],"requestId"}` (Decision 0005).',
    '`code` is the HTTP status, `message` its response key. If the refusal is about certain fields, `errors` names them;',
    'otherwise it has one entry whose `reason` is the code below in lower case. The token endpoint answers in the form of',
    'RFC 6749 §5.2 instead. A transient error may be retried later, after `Retry-After` seconds where that header is given.',
    '',
    '## Statuses',
    '',
    '| Kind | HTTP | `message` |',
    '|---|---|---|',
    ...Object.entries(statusOfKind).map(
      ([kind, status]) => `| ${kind} | ${status} | ${responseKey(status)} |`,
    ),
    '| (path known, method not) | 405 | Method Not Allowed |',
    '| (request arrives too slowly) | 408 | Request Timeout |',
    '| (content type not accepted) | 415 | Unsupported Media Type |',
    '| (headers over 16 KiB) | 431 | Request Header Fields Too Large |',
    '',
    '## Reasons',
    '',
    'The `reason` of an entry of `errors` that is about a field or about the request as such, and of `warnings`.',
    '',
    '| `reason` | Meaning |',
    '|---|---|',
    ...Object.entries(fieldReasons).map(([reason, text]) => `| ${reason} | ${text} |`),
    '',
    '## Codes',
    ...modules.flatMap((module) => [
      '',
      `### ${module}`,
      '',
      '| Code | Kind | HTTP | Transient | Public text |',
      '|---|---|---|---|---|',
      ...rows.filter((row) => row.module === module).map(formatRow),
    ]),
    '',
  ].join('\n');
}

function formatRow(row: ErrorRow): string {
  return `| ${row.code} | ${row.kind} | ${row.httpStatus} | ${row.isTransient ? 'yes' : 'no'} | ${row.publicMessage} |`;
}

/** True if the page in the repository matches the code. */
export async function isPageCurrent(): Promise<boolean> {
  return readPage() === formatErrors(await collectErrors());
}

function readPage(): string {
  try {
    return readFileSync(page, 'utf8');
  } catch {
    return '';
  }
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === import.meta.filename) {
  if (process.argv.includes('--check')) {
    if (!(await isPageCurrent())) {
      console.error('docs/api/errors.md is stale: run node tools/write-error-docs.ts');
      process.exitCode = 1;
    }
  } else {
    mkdirSync(path.dirname(page), { recursive: true });
    writeFileSync(page, formatErrors(await collectErrors()));
  }
}
