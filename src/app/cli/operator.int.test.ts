import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { runCommand } from '../../../test/support/run-command.ts';
import { clearConsolePort, noteConsolePort } from '../../platform/index.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-cli-operator-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

const run = (...words: string[]) =>
  runCommand({ OPENHISP_DATA_DIR: folder, OPENHISP_OPERATOR: 'jo.miller' }, words);

const secrets: string[] = [];

const runJson = async (...words: string[]): Promise<unknown> =>
  JSON.parse((await run(...words, '--json')).out) as unknown;

before(async () => {
  await run('init');
});

test('an operator is made with a role, and gets a link that names no server a secret', async () => {
  const { out, note } = await run('operator', 'create', 'Ann Lee', '--role', 'help-desk');
  assert.match(out, /^http:\/\/localhost:8090\/#enter=[\w-]{43}\n$/);
  assert.match(note, /registers a passkey for Ann Lee \(help-desk\), once, until/);
  await assert.rejects(run('operator', 'create', 'ann lee', '--role', 'operator'), {
    code: 'OPERATORS_NAME_TAKEN',
  });
  await assert.rejects(run('operator', 'create', 'Bo', '--role', 'root'), { code: 'OPERATORS_ROLE_INVALID' });
  for (const name of ['', ' x', 'a\nb', '-x', 'x'.repeat(81)])
    await assert.rejects(run('operator', 'create', '--role', 'operator', '--', name), {
      code: 'OPERATORS_NAME_INVALID',
    });
});

test('an operator of an organization is made and listed with it, and roles are of their place', async () => {
  await run('organization', 'add', 'A clinic', '--id', 'clinic');
  const create = ['operator', 'create', 'Cleo', '--organization'];
  for (const [organization, role, code] of [
    ['clinic', 'operator', 'OPERATORS_ROLE_INVALID'],
    ['nowhere', 'auditor', 'ORGANIZATION_UNKNOWN'],
  ] as const)
    await assert.rejects(run(...create, organization, '--role', role), { code });
  const { note } = await run(...create, 'clinic', '--role', 'administrator');
  assert.match(note, /Cleo \(administrator of clinic\)/);
  assert.match((await run('operator', 'list')).out, /^Cleo\tadministrator\t.*\torganization clinic$/m);
  await assert.rejects(run('operator', 'role', 'Cleo', 'operator'), { code: 'OPERATORS_ROLE_INVALID' });
});

test('a link has the port on which the console really listens, and says so if none does', async () => {
  const { note } = await run('operator', 'create', 'Port', '--role', 'operator');
  assert.match(note, /The console does not run now/);
  noteConsolePort(folder, 9123);
  const running = await run('operator', 'link', 'Port');
  assert.match(running.out, /^http:\/\/localhost:9123\/#enter=/);
  assert.doesNotMatch(running.note, /does not run/);
  clearConsolePort(folder);
  assert.match((await run('operator', 'link', 'Port')).out, /^http:\/\/localhost:8090\/#enter=/);
});

test('role, disable and enable change the list', async () => {
  await run('operator', 'create', 'Cy', '--role', 'operator');
  await run('operator', 'role', 'Cy', 'auditor');
  await run('operator', 'disable', 'Cy');
  assert.match((await run('operator', 'list')).out, /^Cy\tauditor\tdisabled\t0 passkeys\t0 sessions$/m);
  await run('operator', 'enable', 'Cy');
  const all = (await runJson('operator', 'list')) as { name: string; disabledAt?: string }[];
  assert.equal(all.find(({ name }) => name === 'Cy')?.disabledAt, undefined);
  await assert.rejects(run('operator', 'disable', 'Nobody'), { code: 'OPERATORS_UNKNOWN' });
});

test('links and tokens are made, listed without their secret, and revoked', async () => {
  await run('operator', 'create', 'Di', '--role', 'operator');
  const link = (await runJson('operator', 'link', 'Di', '--sign-in')) as { purpose: string; link: string };
  assert.equal(link.purpose, 'sign-in');
  const made = (await runJson('operator', 'token', 'Di', '--label', 'nightly', '--days', '7')) as {
    token: string;
    id: string;
    createdAt: string;
    expiresAt: string;
  };
  secrets.push(made.token, link.link.split('#enter=')[1] ?? '');
  assert.match(made.token, /^openhisp_op_[\w-]{43}$/);
  assert.equal(Date.parse(made.expiresAt) - Date.parse(made.createdAt), 7 * 86_400_000);
  const listed = await run('operator', 'tokens', 'Di');
  assert.match(listed.out, new RegExp(`^${made.id}\tnightly\t`));
  assert.ok(!listed.out.includes(made.token));
  await run('operator', 'create', 'Ed', '--role', 'operator');
  assert.equal((await run('operator', 'revoke-token', 'Ed', made.id)).exitCode, 1, 'of another operator');
  assert.notEqual((await run('operator', 'tokens', 'Di')).out, '');
  await run('operator', 'revoke-token', 'Di', made.id);
  assert.equal((await run('operator', 'tokens', 'Di')).out, '');
  assert.equal((await run('operator', 'revoke-token', 'Di', made.id)).exitCode, 1);
  assert.deepEqual(await runJson('operator', 'sessions', 'Di', '--end'), []);
  await assert.rejects(run('operator', 'sessions', 'Di', '--end', 'none'), {
    code: 'OPERATORS_SESSION_UNKNOWN',
  });
});

test('everything leaves a row with the name of who did it, and none holds a secret', async () => {
  const { out } = await run('audit', 'list', '--limit', '100');
  for (const action of ['create', 'role', 'disable', 'enable', 'link', 'token', 'token-revoke'])
    assert.match(
      out,
      new RegExp(`operator:jo\\.miller.*operator\\.${action}|operator\\.${action}.*operator:jo\\.miller`),
    );
  assert.equal(secrets.length, 2);
  for (const secret of secrets) assert.ok(!out.includes(secret));
  assert.match((await run('verify')).out, /rows/);
});
