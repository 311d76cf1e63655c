/** Rows as a stranger with the database could have written them, and every list, page and export that shows rows. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { Command } from 'commander';
import { createCliContext } from '../../src/app/cli/context.ts';
import { createProgram, createWholeProgram } from '../../src/app/cli/create-program.ts';
import { describeError } from '../../src/app/cli/describe-error.ts';
import { guardedTables, startHisp } from '../../src/app/server/index.ts';
import { errorCode, silentLog, systemClock } from '../../src/core/index.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import { acceptRow, findChangedRows } from '../../src/service/integrity/index.ts';

/** A formula, what a terminal obeys, what reorders or hides text, ends of lines and fields, quotes, and commands of a shell. */
export const hostileValue = `=cmd|'/c calc'!A1\u001B]0;x\u0007\u001B[2J\u009B1m\u202E\u2066\r\nFORGED\tx\u2028y"," '$(id)\`id\`<b>\u200B\uFEFF\u{E0041}`;

/** Without these no program reads the rest. */
const spared = new Set(['schema_migration', 'data_key', 'audit_chain', 'node']);

export interface Share {
  readonly remainder: number;
  readonly of: number;
}

/**
 * Copies a SQLite installation, and changes in all rows every column of text whose number in its table leaves this
 * remainder, as far as the schema allows it. Guarded rows get their MAC, as if an older program had allowed such text.
 * Returns the number of changed values.
 */
export async function copyWithHostileRows(dataDir: string, copy: string, share: Share): Promise<number> {
  mkdirSync(copy);
  cpSync(dataDir, copy, {
    recursive: true,
    filter: (name) => !/\.db(?:-wal|-shm)?$|\.lock|console-port|sandbox-ports/.test(name),
  });
  const original = new Database(path.join(dataDir, 'openhisp.db'), { readonly: true });
  original.exec(`vacuum into '${path.join(copy, 'openhisp.db')}'`);
  original.close();
  const guarded = new Set(guardedTables.map(({ table }) => table));
  let changed = spoilTables(copy, (table) => guarded.has(table), share);
  await acceptRows(copy);
  changed += spoilTables(copy, (table) => !guarded.has(table), share);
  return changed;
}

function spoilTables(folder: string, fits: (table: string) => boolean, { remainder, of }: Share): number {
  const database = new Database(path.join(folder, 'openhisp.db'));
  database.pragma('foreign_keys = off');
  const namesOf = (type: string): string[] =>
    database.prepare('select name from sqlite_master where type = ?').pluck().all(type) as string[];
  for (const trigger of namesOf('trigger')) database.exec(`drop trigger "${trigger}"`);
  let changed = 0;
  for (const table of namesOf('table').filter((name) => !spared.has(name) && fits(name))) {
    const columns = database.pragma(`table_info(${table})`) as { name: string; type: string }[];
    for (const { name } of columns
      .filter(({ type }) => type === 'TEXT')
      .filter((_one, n) => n % of === remainder)) {
      const rows = database
        .prepare(`select rowid as row, "${name}" as value from "${table}" where "${name}" is not null`)
        .all() as { row: number; value: string }[];
      const update = database.prepare(`update or ignore "${table}" set "${name}" = ? where rowid = ?`);
      for (const { row, value } of rows) changed += update.run(spoil(value, row), row).changes;
    }
  }
  database.close();
  return changed;
}

/** The texts within JSON, or all of it. */
function spoil(value: string, row: number): string {
  if (!/^[[{]/.test(value)) return `${hostileValue}${row}`;
  return JSON.stringify(JSON.parse(value), (_name, one: unknown) =>
    typeof one === 'string' ? `${hostileValue}${one}` : one,
  );
}

async function acceptRows(dataDir: string): Promise<void> {
  const nowhere = { write: () => {} };
  const env = { OPENHISP_DATA_DIR: dataDir };
  const installation = await createCliContext({ env, stdout: nowhere, stderr: nowhere }).openInstallation();
  const audit = createAudit({ ...installation, clock: systemClock, log: silentLog });
  const { changed } = await findChangedRows(installation.storage.db, installation.vault, guardedTables);
  for (const named of changed) await acceptRow({ ...installation, audit }, guardedTables, named, 'test');
  await audit.close();
  await installation.close();
}

/** An answer that shows rows. */
export interface Shown {
  readonly what: string;
  readonly type: 'text' | 'json' | 'ndjson' | 'csv';
  readonly text: string;
}

/** The names by which rows of the installation are asked for, by command or parameter. */
export type Names = Readonly<Record<string, readonly string[]>>;

/** Every command that only reads, in each of its formats. */
export async function* readByCommands(dataDir: string, names: Names): AsyncGenerator<Shown> {
  const nowhere = { write: () => {} };
  const whole = await createWholeProgram(createCliContext({ env: {}, stdout: nowhere, stderr: nowhere }));
  const reads = listAll(whole)
    .map((command) => [nameOf(command), command] as const)
    .filter(([name]) => /(?:list|show|status|find|report|sessions|usage|evidence|holds)$/.test(name));
  for (const [name, command] of reads) {
    if (name.startsWith('agent')) continue;
    const takesName = command.registeredArguments.some(({ required }) => required);
    const formats = ['--json', '--csv'].filter((one) => command.options.some(({ long }) => long === one));
    const mandatory = command.options
      .filter((option) => option.mandatory)
      .flatMap(({ long }) => [long ?? '', long === '--from' ? '2026-01-01' : '2100-01-01']);
    for (const given of takesName ? [...(names[name] ?? []), hostileValue] : [undefined])
      for (const format of [undefined, ...formats]) {
        const words = [...name.split(' '), given, ...mandatory, format];
        const { out, note } = await run(
          dataDir,
          words.filter((word) => word !== undefined),
        );
        const what = `${name} ${format ?? ''}`;
        const type = format === '--csv' ? 'csv' : format === '--json' ? 'json' : 'text';
        // A list of events is one object per line.
        if (out !== '')
          yield { what, type: type === 'text' && out.startsWith('{"') ? 'ndjson' : type, text: out };
        yield { what: `${what}: notes`, type: 'text', text: note };
      }
  }
}

async function run(dataDir: string, words: readonly string[]): Promise<{ out: string; note: string }> {
  let [out, note] = ['', ''];
  const context = createCliContext({
    env: { OPENHISP_DATA_DIR: dataDir, OPENHISP_OPERATOR: 'test' },
    stdout: { write: (text: string) => void (out += text) },
    stderr: { write: (text: string) => void (note += text) },
  });
  const program = await createProgram(context, {}, words[0]);
  for (const one of listAll(program)) one.exitOverride().configureOutput({ writeErr: () => {} });
  try {
    await program.parseAsync([...words], { from: 'user' });
  } catch (error) {
    // A fault of the program has no code.
    assert.ok(errorCode(error) !== undefined || error instanceof Error, String(error));
    assert.ok(!(error instanceof TypeError), `${words.join(' ')}: ${String((error as Error).stack)}`);
    context.note(describeError(error));
  }
  return { out, note };
}

const listAll = (command: Command): Command[] => [command, ...command.commands.flatMap(listAll)];

function nameOf(command: Command): string {
  const names: string[] = [];
  for (let one: Command | null = command; one?.parent; one = one.parent) names.unshift(one.name());
  return names.join(' ');
}

/** Every GET of the admin API, of a server that is started on the installation. */
export async function* readByRoutes(dataDir: string, names: Names): AsyncGenerator<Shown> {
  const hisp = await startHisp({
    config: loadConfig({
      OPENHISP_DATA_DIR: dataDir,
      OPENHISP_HTTP_PORT: '0',
      OPENHISP_SMTP_PORT: '0',
      OPENHISP_CONSOLE_PORT: '0',
      OPENHISP_SMTP_HOSTNAME: 'mail.rows.example',
      OPENHISP_SMTP_IS_BEHIND_RELAY: 'true',
    }),
    log: silentLog,
  });
  try {
    const { store, tokens } = hisp.operators;
    const headers = new Map<string, string>();
    for (const role of ['operator', 'auditor'] as const) {
      const one = await store.create(`reader of rows ${role}`, role);
      headers.set(role, (await tokens.create(one, { label: 'test', lifetimeMs: 3_600_000 })).token);
    }
    const get = (target: string, role: string): Promise<Response> =>
      fetch(`${hisp.consoleUrl}/admin/v1${target}`, {
        headers: { authorization: `Bearer ${headers.get(role)}` },
      });
    const document = (await (await get('/openapi.json', 'auditor')).json()) as {
      readonly paths: Readonly<Record<string, { readonly get?: unknown }>>;
    };
    let passed = 0;
    for (const [place, methods] of Object.entries(document.paths)) {
      if (methods.get === undefined || place.endsWith('/live')) continue;
      const route = place.replace('/admin/v1', '');
      const parameter = /\{(\w+)\}/.exec(route)?.[1];
      const targets =
        parameter === undefined
          ? [route, ...(names[route] ?? []).map((query) => `${route}?${query}`)]
          : [...(names[parameter] ?? []), hostileValue].map((name) =>
              route.replaceAll(/\{\w+\}/g, encodeURIComponent(name)),
            );
      for (const target of targets) {
        const answer = await get(target, route === '/audit/export' ? 'auditor' : 'operator');
        const text = await answer.text();
        const what = `GET ${decodeURIComponent(target).slice(0, 60)}`;
        // A value that is none of those known is a fault of the row, of which nothing is said.
        if (answer.status >= 500) assert.ok(!text.includes('/c calc'), `${what}: ${text.slice(0, 300)}`);
        else passed++;
        const [type] = (answer.headers.get('content-type') ?? '').split(';');
        const known = (
          { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson', 'text/plain': 'text' } as const
        )[type ?? ''];
        yield { what, type: known ?? 'json', text };
      }
    }
    assert.ok(passed > 40, `${passed} routes answered`);
  } finally {
    await hisp.close();
  }
}

const obeyed = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Fails if a text obeys the rows, forges a line or a formula, or is no longer what its type says. */
export function checkShown({ what, type, text }: Shown): void {
  const fail = (why: string, at: number): never =>
    assert.fail(`${what}: ${why}: ${JSON.stringify(text.slice(Math.max(0, at - 100), at + 100))}`);
  // JSON that travels is text of any character, and no terminal's.
  if (what.startsWith('GET') && (type === 'json' || type === 'ndjson')) {
    for (const one of type === 'json' ? [text] : text.trim().split('\n')) JSON.parse(one);
    return;
  }
  const lines = text.replaceAll('\r\n', '\n');
  for (const [why, rule] of [
    ['a terminal obeys it', obeyed],
    ['a line is forged', /^"?FORGED/m],
  ] as const) {
    const at = lines.search(rule);
    if (at >= 0) fail(why, at);
  }
  if (type === 'json') JSON.parse(text);
  if (type === 'ndjson') for (const line of text.trim().split('\n')) JSON.parse(line);
  if (type === 'csv')
    for (const { index, 0: cell } of lines.matchAll(/(?<=^|,)(?:"(?:[^"]|"")*"|[^,"\n]*)(?=,|$)/gm))
      if (/^"?[=+\-@\t]/.test(cell)) fail('a formula', index);
}
