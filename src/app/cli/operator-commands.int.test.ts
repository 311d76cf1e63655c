import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import Database from 'better-sqlite3';
import { runCommand } from '../../../test/support/run-command.ts';
import { insertDeadLetter, insertWebhook } from '../../../test/support/stored-rows.ts';
import { createCliContext } from './context.ts';
import { describeError, UsageError } from './describe-error.ts';
import type { WebhookTables } from '../../service/webhook/index.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-cli-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

/** Runs one command on the test's installation, with its own output. */
const run = (...words: string[]) => runIn(folder, ...words);

const runIn = (dataDir: string, ...words: string[]) =>
  runCommand({ OPENHISP_DATA_DIR: dataDir, OPENHISP_OPERATOR: 'jo.miller' }, words);

before(async () => {
  await run('init');
});

test('a client is made, its secret shown once, and its settings listed and changed', async () => {
  const made = await run(
    'client',
    'create',
    'Example EHR',
    '--client-id',
    'demo',
    '--scope',
    'messaging.api',
    '--address',
    '@a.example.org',
    '--limit',
    'sendsPerSecond=3',
    '--data-use-accepted',
  );
  assert.match(made.out, /^client_id {6}demo\nclient_secret {2}ohs_[\w-]{43}\nsecret id {6}[0-9a-f]{12}\n$/);
  const secret = /client_secret {2}(\S+)/.exec(made.out)?.[1] ?? '';
  const shown = JSON.parse((await run('client', 'show', 'demo')).out) as Record<string, unknown>;
  assert.deepEqual(
    [shown['scopes'], shown['directAddresses'], shown['limits']],
    [['messaging.api'], ['@a.example.org'], { sendsPerSecond: 3 }],
  );
  assert.match(
    (await run('client', 'list')).out,
    /^demo\tactive\tExample EHR\tmessaging\.api\t@a\.example\.org\t/,
  );
  await run('client', 'update', 'demo', '--address', 'b@a.example.org', '--final-delivery');
  const changed = (await run('client', 'list', '--json')).out;
  assert.match(changed, /"requestFinalDelivery": true/);
  assert.ok(!changed.includes(secret));
});

test('secrets are rotated and revoked, clients disabled and enabled', async () => {
  const second = JSON.parse((await run('client', 'rotate-secret', 'demo', '--json')).out) as {
    secretId: string;
  };
  await assert.rejects(run('client', 'rotate-secret', 'demo'), { code: 'OAUTH_SECRETS_EXHAUSTED' });
  await run('client', 'revoke-secret', 'demo', second.secretId);
  await assert.rejects(run('client', 'revoke-secret', 'demo', second.secretId), (error) =>
    describeError(error).endsWith('List the secrets of a client: openhisp client show CLIENT_ID.'),
  );
  const [only] = (
    JSON.parse((await run('client', 'show', 'demo')).out) as { secrets: { secretId: string }[] }
  ).secrets;
  await assert.rejects(run('client', 'revoke-secret', 'demo', only?.secretId ?? ''), (error) =>
    describeError(error).endsWith('or add --force.'),
  );
  await run('client', 'disable', 'demo');
  assert.match((await run('client', 'list')).out, /\tdisabled\t/);
  await run('client', 'enable', 'demo');
  assert.match((await run('client', 'list')).out, /\tactive\t/);
});

test('wrong settings and unknown clients are refused, and nothing is made', async () => {
  await assert.rejects(run('client', 'create', 'x', '--address', 'nobody'), {
    code: 'OAUTH_CLIENT_SETTINGS_INVALID',
  });
  await assert.rejects(run('client', 'show', 'nobody'), { code: 'OAUTH_CLIENT_UNKNOWN' });
  assert.equal((await run('client', 'list')).out.trim().split('\n').length, 1);
});

test('a client of a domain or address that is not hosted is made, and what is not hosted is named', async () => {
  const words = ['client', 'update', 'demo', '--address', 'jo@a.example.org', '@b.example.org'];
  assert.match((await run(...words)).note, /b\.example\.org is not a hosted domain\. Check the spelling/);
  await run('domain', 'add', 'a.example.org');
  await run('domain', 'add', 'b.example.org');
  assert.match((await run(...words)).note, /jo@a\.example\.org is not a hosted address, so it cannot send/);
  await run('address', 'add', 'jo@a.example.org', '--no-listed');
  assert.doesNotMatch((await run(...words)).note, /hosted|disabled/);
  await run('address', 'disable', 'jo@a.example.org');
  assert.match((await run(...words)).note, /jo@a\.example\.org is disabled/);
  await run('client', 'update', 'demo', '--address', '@a.example.org');
});

test('the audit of all that can be listed and verified', async () => {
  const lines = (await run('audit', 'list', '--action', 'client.create')).out.trim().split('\n');
  assert.equal((JSON.parse(lines[0] ?? '') as { actor: string }).actor, 'operator:jo.miller');
  const verified = await run('audit', 'verify');
  assert.match(
    verified.out,
    /^\d+ events, 1 to \d+\n\d+ checkpoints, up to event \d+;.*\nlast hash [0-9a-f]{64}\n$/,
  );
  assert.equal(verified.exitCode, undefined);
});

test('a row of a command names the login, marks a name that was only claimed, and changes can be listed alone', async () => {
  const [line = ''] = (await run('audit', 'list', '--changes', '--limit', '1')).out.split('\n');
  const row = JSON.parse(line) as Readonly<Record<string, unknown>>;
  assert.deepEqual(
    [row['action'], row['actor'], row['channel'], row['login'], row['isClaimed']],
    ['client.update', 'operator:jo.miller', 'command', userInfo().username, true],
  );
  const [header, ...rows] = (await run('audit', 'list', '--changes', '--all', '--csv')).out
    .trim()
    .split('\n');
  assert.match(header ?? '', /^sequence,time \(UTC\),what,action,group,actor,name is claimed,channel,login,/);
  assert.match(
    rows[0] ?? '',
    new RegExp(
      `^\\d+,[^,]+,A client was changed,client\\.update,changes,operator:jo\\.miller,yes,command,${userInfo().username},,,ok,,`,
    ),
  );
  assert.ok(rows.length > 5);
  assert.ok(rows.every((one) => one.includes(',changes,')));
});

test('addresses of a CSV are imported, and refused rows are named with their lines', async () => {
  const file = path.join(folder, 'addresses.csv');
  writeFileSync(file, 'address,last name\nann@a.example.org,Lee\nbo@no.example.org,Ray\n');
  const refused = await run('address', 'import', file);
  assert.match(
    refused.out,
    /^line 3\tbo@no\.example\.org\taddress: no\.example\.org is not a hosted domain\.\nWould be: 1 added/,
  );
  assert.match(refused.note, /Nothing was changed, because rows are refused\./);
  assert.equal(refused.exitCode, 1);
  const report = path.join(folder, 'report.csv');
  const stored = await run('address', 'import', file, '--row-by-row', '--report', report);
  assert.match(stored.out, /\n1 added, 0 changed, 0 unchanged, 1 refused\n$/);
  assert.match(
    readFileSync(report, 'utf8'),
    /^line,address,outcome,text\r\n2,ann@a\.example\.org,added,No place was found; [^\r]*\r\n3,bo@/,
  );
  await assert.rejects(run('address', 'import', path.join(folder, 'none.csv')), { code: 'ENOENT' });
});

test('an operator has a name: --as, OPENHISP_OPERATOR or the login name', () => {
  const output = { write: () => {} };
  const nameOf = (env: Record<string, string>, given?: string): string => {
    const context = createCliContext({ env, stdout: output, stderr: output });
    if (given !== undefined) context.setOperator(given);
    return context.actor();
  };
  assert.equal(nameOf({ OPENHISP_OPERATOR: 'jo' }, 'Ann Lee'), 'operator:Ann Lee');
  assert.equal(nameOf({ OPENHISP_OPERATOR: 'jo' }), 'operator:jo');
  assert.equal(nameOf({}), `operator:${userInfo().username}`);
  for (const name of ['', ' ', 'a\nb', 'x'.repeat(81)]) assert.throws(() => nameOf({}, name), UsageError);
});

test('the audit is listed page by page, filtered by outcome and time', async () => {
  const all = (await run('audit', 'list', '--all')).out.trim().split('\n');
  const [own = ''] = (await run('audit', 'list', '--limit', '1')).out.split('\n');
  assert.match(
    own,
    /"action":"audit\.list","actor":"operator:jo\.miller","outcome":"ok","objects":\{"count":\d+/,
  );
  const end = new Date().toISOString();
  const sequenceOf = (line = '') => (JSON.parse(line) as { sequence: number }).sequence;
  all.unshift(...(await run('audit', 'list', '--limit', '2', '--until', end)).out.trim().split('\n'));
  assert.ok(all.length > 6);
  const first = await run('audit', 'list', '--limit', '2', '--until', end);
  const before = sequenceOf(first.out.trim().split('\n')[1]);
  assert.match(first.note, new RegExp(`More: --before ${before}\n$`));
  const rest = await run('audit', 'list', '--before', String(before), '--limit', '10000');
  assert.deepEqual([...first.out.trim().split('\n'), ...rest.out.trim().split('\n')], all);
  assert.equal((await run('audit', 'list', '--outcome', 'refused')).out, '');
  assert.equal((await run('audit', 'list', '--since', '2999-01-01')).out, '');
  assert.equal((await run('audit', 'list', '--until', '2001-01-01')).out, '');
  // As for messages: how long ago.
  assert.equal((await run('audit', 'list', '--until', '1d')).out, '');
  assert.notEqual((await run('audit', 'list', '--since', '1h')).out, '');
  assert.notEqual((await run('audit', 'list', '--outcome', 'ok', '--since', '2001-01-01')).out, '');
});

test('a backup is written once', async () => {
  const file = path.join(folder, 'copy.db');
  const { out } = await run('backup', file);
  assert.match(out, /: \d+ audit events, last hash [0-9a-f]{64}\n$/);
  assert.ok(existsSync(file));
  assert.ok(!existsSync(`${file}-wal`));
  await assert.rejects(run('backup', file), /EEXIST/);
  assert.ok(existsSync(file));
  const [row = ''] = (await run('audit', 'list', '--limit', '1')).out.split('\n');
  assert.match(row, /"action":"backup\.write","actor":"operator:jo\.miller","outcome":"failed"/);
});

test('the row of a successful backup follows the copy, which contains that it was begun', async () => {
  const file = path.join(folder, 'rows.db');
  await run('backup', file);
  const [last = ''] = (await run('audit', 'list', '--limit', '1')).out.split('\n');
  assert.match(last, /"action":"backup\.write","actor":"operator:jo\.miller","outcome":"ok"/);
  const copy = new Database(file, { readonly: true });
  const row = copy.prepare('select action from audit_event order by sequence desc limit 1').get();
  copy.close();
  assert.deepEqual(row, { action: 'backup.begin' });
});

test('a backup that fails names its own reason, also if the failure cannot be recorded', async () => {
  const full = path.join(folder, 'full');
  await runIn(full, 'init');
  const database = new Database(path.join(full, 'openhisp.db'));
  database.exec(`create trigger full_disk before insert on audit_event when new.outcome = 'failed'
    begin select raise(abort, 'database or disk is full'); end`);
  database.close();
  await assert.rejects(runIn(full, 'backup', path.join(full, 'missing', 'copy.db')), {
    code: 'ENOENT',
    note: /^The failure could not be recorded in the audit trail: .*disk is full/m,
  });
});

test('a backup whose copy cannot be verified is an error and leaves no copy', async () => {
  const copied = path.join(folder, 'tampered-copy.db');
  const tampered = path.join(folder, 'tampered');
  await runIn(tampered, 'init');
  const database = new Database(path.join(tampered, 'openhisp.db'));
  database.exec("drop trigger audit_event_unchanged; update audit_event set action = 'forged'");
  database.close();
  await assert.rejects(runIn(tampered, 'backup', copied), { code: 'AUDIT_CHAIN_BROKEN' });
  assert.ok(!existsSync(copied));
});

test('a backup that is killed leaves no file of its name, and the next one succeeds', async () => {
  const file = path.join(folder, 'killed.db');
  const child = spawn(
    process.execPath,
    [path.join(import.meta.dirname, '../../../bin/openhisp.js'), 'backup', file],
    {
      env: { ...process.env, OPENHISP_DATA_DIR: folder },
      stdio: 'ignore',
    },
  );
  const ended = once(child, 'exit');
  const watcher = watch(folder);
  // The copy takes longer than one event, whatever it is named.
  for await (const [, name] of on(watcher, 'change') as AsyncIterable<[string, string]>)
    if (name.startsWith('killed.db')) break;
  watcher.close();
  child.kill('SIGKILL');
  assert.deepEqual(await ended, [null, 'SIGKILL']);
  assert.ok(!existsSync(file));
  await run('backup', file);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('killed.db')),
    ['killed.db'],
  );
});

test('two backups at once do not destroy each other: to one file the second is refused, to two both are written', async () => {
  const file = path.join(folder, 'one.db');
  const results = await Promise.allSettled([run('backup', file), run('backup', file)]);
  assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  const failed = results.find((result) => result.status === 'rejected');
  assert.match(String(failed?.reason), /EEXIST/);
  await Promise.all(['two.db', 'three.db'].map((name) => run('backup', path.join(folder, name))));
  assert.deepEqual(
    readdirSync(folder).filter((name) => /^(?:one|two|three)\.db/.test(name)),
    ['one.db', 'three.db', 'two.db'],
  );
});

test('a file that is not there, and one without a name, are refused in words', async () => {
  const missing = path.join(folder, 'no-folder', 'file');
  const texts = [
    ['client', 'list', '--config', missing],
    ['vault', 'change-master-key', missing],
    ['backup', ''],
  ].map((words) => run(...words).then(({ note }) => note, describeError));
  const [config, key, backup] = await Promise.all(texts);
  assert.match(config ?? '', /The configuration file \S+ cannot be read: not found\. Check the path/);
  assert.match(key ?? '', /cannot create \S+: not found\. Check the path/);
  assert.match(backup ?? '', /^Name the file/);
});

test('usage: a column once, and names that nobody has', async () => {
  assert.match((await run('usage', '--by', 'month', 'month')).out, /^month\tmessages\t/);
  for (const [option, name, code] of [
    ['--client', 'nope', 'OAUTH_CLIENT_UNKNOWN'],
    ['--organization', 'nope', 'ORGANIZATION_UNKNOWN'],
    ['--domain', 'nope.example', 'TRUST_DOMAIN_UNKNOWN'],
  ] as const)
    await assert.rejects(run('usage', option, name), { code });
  assert.match((await run('usage', '--client', 'demo')).note, /Nothing was counted yet/);
  assert.match((await run('message', 'find', '--client', 'nope')).note, /there is no client nope/);
});

test('data keys are rotated and put under a new master key, which then opens the installation', async () => {
  assert.match((await run('vault', 'rotate-data-key')).out, /^data key [0-9a-f]{16}\n$/);
  const file = path.join(folder, 'new.key');
  const { out, note } = await run('vault', 'change-master-key', file);
  assert.match(out, /^2 data keys are now under master key [0-9a-f]{16}\n$/);
  assert.match(note, /Backups that were made until now need the old key/);
  await assert.rejects(run('client', 'list'), {
    code: 'PLATFORM_MASTER_KEY_INVALID',
    message: /: name its file in vault\.masterKeyFile, or set vault\.masterKey$/,
  });
  writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ vault: { masterKeyFile: file } }));
  assert.match((await run('client', 'list')).out, /^demo\t/);
  // The next words of the command would be about the end of the old key.
  await assert.rejects(run('vault', 'change-master-key', file), {
    code: 'PLATFORM_MASTER_KEY_INVALID',
    message: /new\.key contains the master key that is in use/,
  });
  const actions = (await run('audit', 'list', '--limit', '20')).out;
  for (const action of ['vault.rotate-data-key', 'vault.change-master-key'])
    assert.match(actions, new RegExp(`"action":"${action}","actor":"operator:jo\\.miller","outcome":"ok"`));
});

function openInstallation() {
  const context = createCliContext({
    env: { OPENHISP_DATA_DIR: folder },
    stdout: { write: () => {} },
    stderr: { write: () => {} },
    exitCode: undefined,
  });
  return context.openInstallation();
}

test('mail that is listed or retried is in the audit trail; an unknown dead letter is an error', async () => {
  const { storage, close } = await openInstallation();
  await insertDeadLetter(storage, { receivedMs: Date.now(), recipients: ['desk@direct.example.org'] });
  await close();
  const unknown = await run('mail', 'retry', 'nothing');
  assert.deepEqual([unknown.exitCode, unknown.out], [1, '']);
  assert.match(unknown.note, /no dead letter has the id nothing/);
  assert.match((await run('mail', 'list')).out, /\tdesk@direct\.example\.org\t/);
  const [letter] = JSON.parse((await run('mail', 'list', '--json')).out) as { recipients: string[] }[];
  assert.deepEqual(letter?.recipients, ['desk@direct.example.org']);
  const [viewed = ''] = (await run('audit', 'list', '--action', 'inbound.list')).out.split('\n');
  assert.match(
    viewed,
    /"actor":"operator:jo\.miller","outcome":"ok","objects":\{"count":1,"state":"dead-lettered"\}/,
  );
  assert.equal((await run('mail', 'retry')).out, '1 will be retried\n');
  const rows = (await run('audit', 'list', '--action', 'inbound.retry')).out;
  assert.match(rows, /"actor":"operator:jo\.miller","outcome":"ok","objects":\{"count":1\}/);
});

test('a hold needs a domain and a reason', async () => {
  for (const [domain, reason, expected] of [
    ['bad domain', 'maintenance', /^bad domain: not a domain/m],
    ['dr@direct.example.org', 'maintenance', /^dr@direct\.example\.org: not a domain/m],
    ['direct.example.org', ' ', /^A hold needs a reason/m],
  ] as const) {
    const refused = await run('queue', 'hold', domain, '--reason', reason);
    assert.deepEqual([refused.exitCode, refused.out], [1, '']);
    assert.match(refused.note, expected);
  }
  const list = await run('queue', 'list', 'bad domain');
  assert.equal(list.exitCode, 1);
  assert.match(list.note, /^bad domain: not a domain/m);
  assert.doesNotMatch((await run('queue', 'list')).note, /On hold/);
  assert.equal((await run('queue', 'hold', 'direct.example.org', '--reason', 'test')).exitCode, undefined);
  assert.equal((await run('queue', 'release', 'Direct.Example.org')).exitCode, undefined);
  const none = await run('queue', 'fail', 'direct.example.org');
  assert.deepEqual(
    [none.exitCode, none.out],
    [1, 'no delivery to direct.example.org waits; list the destinations: openhisp queue list\n'],
  );
});

test('a search for what is no address, and the webhooks of an unknown client, are errors, not empty lists', async () => {
  for (const address of ['direct.example.org', 'dr.smith@direct', '@direct']) {
    const refused = await run('message', 'find', '--address', address);
    assert.deepEqual([refused.exitCode, refused.out], [1, '']);
    assert.match(refused.note, /is neither a Direct address \(local@domain\) nor all of a domain/);
  }
  for (const address of ['@direct.example.org', 'Dr.Smith@direct.example.org'])
    assert.equal((await run('message', 'find', '--address', address)).exitCode, undefined);
  const hooks = await run('webhook', 'list', '--client', 'nobody');
  assert.deepEqual([hooks.exitCode, hooks.out], [1, '']);
  assert.match(hooks.note, /openhisp client list/);
});

test('an outcome that no row can have is refused, not an empty list', () =>
  assert.rejects(run('audit', 'list', '--outcome', 'error'), { code: 'commander.invalidArgument' }));

test('webhooks are listed, shown and replayed, and each call is in the audit trail', async () => {
  const { storage, close } = await openInstallation();
  const now = Date.now();
  const hook = { client_id: 'demo', url: 'https://edge.example.org/hook', created_at: now };
  await insertWebhook(storage, { ...hook, id: 'hook1', failing_since: now });
  await insertWebhook(storage, { ...hook, id: 'hook2' });
  const db = storage.tables<WebhookTables>();
  await db
    .insertInto('webhook_notification')
    .values({
      id: 'event1',
      webhook_id: 'hook1',
      client_id: 'demo',
      kind: 'status',
      event_type: 'message.processed',
      subject: 'urn:uuid:m1',
      payload: '{"patient":"nobody"}',
      state: 'dead',
      attempts: 11,
      next_attempt_at: now,
      lease_token: null,
      lease_until: 0,
      last_status: 500,
      last_error: 'HTTP 500',
      created_at: now,
      settled_at: now,
    })
    .execute();
  await close();

  assert.equal((await run('webhook', 'list')).out.trimEnd().split('\n').length, 2);
  const failing = JSON.parse((await run('webhook', 'list', '--failing', '--json')).out) as { id: string }[];
  assert.deepEqual(
    failing.map(({ id }) => id),
    ['hook1'],
  );
  const shown = (await run('webhook', 'show', 'hook1', '--json')).out;
  assert.match(shown, /"eventId": "event1"/);
  assert.doesNotMatch(shown, /sealed|nobody/);
  assert.match((await run('webhook', 'show', 'hook1')).out, /dead\t.*\tHTTP 500\n$/);
  const none = await run('webhook', 'replay', 'hook1', '--event', 'other', '--json');
  assert.deepEqual([JSON.parse(none.out), none.exitCode], [{ replayed: 0 }, 1]);
  assert.equal((await run('webhook', 'replay', 'hook1')).out, '1 replayed\n');
  assert.match((await run('webhook', 'list', '--client', 'demo')).out, /waiting 1\theld 0\tdead 0/);
  const unknown = await run('webhook', 'show', 'nothing');
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.note, /List the webhooks: openhisp webhook list\./);
  const made = await run(
    'webhook',
    'create',
    'demo',
    'https://edge.example.org/new',
    '--description',
    "O'Neil",
  );
  assert.match(made.out, /^webhook {2}[\w-]+\nsecret {3}whsec_\S+\n$/);
  assert.match(made.note, /shown this once/);
  const id = /webhook {2}(\S+)/.exec(made.out)?.[1] ?? '';
  const secret = /secret {3}(\S+)/.exec(made.out)?.[1] ?? '';
  const details = (await run('webhook', 'show', id, '--json')).out;
  assert.match(details, /O'Neil/);
  assert.ok(!details.includes(secret));
  assert.equal((await run('webhook', 'disable', id)).out, 'disabled; 0 held, 0 waiting\n');
  assert.equal((await run('webhook', 'enable', id)).out, 'enabled; 0 held, 0 waiting\n');
  for (const [words, text] of [
    [['nobody', 'https://edge.example.org/new'], /nobody/],
    [['demo', 'http://edge.example.org/new'], /url.*https/i],
  ] as const) {
    const refused = await run('webhook', 'create', ...words);
    assert.deepEqual([refused.out, refused.exitCode], ['', 1]);
    assert.match(refused.note, text);
  }
  const actions = (await run('audit', 'list', '--actor', 'operator:jo.miller')).out;
  for (const action of ['list', 'show', 'replay', 'create', 'disable', 'enable'].map(
    (one) => `webhook.${one}`,
  ))
    assert.ok(actions.includes(action));
});

test('an edge account is made and changed, and where its failures and its mail go is set in one step with its audit row', async () => {
  const username = 'front@a.example.org';
  await run(
    'client',
    'create',
    'Edges',
    '--client-id',
    'edges',
    '--scope',
    'messaging.api',
    '--address',
    '@a.example.org',
  );
  const made = await run(
    'edge',
    'create',
    'edges',
    username,
    '--protocol',
    'imap',
    'submission',
    '--no-sent',
  );
  assert.match(made.out, /^password +\S{20,}$/m);
  const misspelt = await run('edge', 'update', username, '--address', username, 'frnt@a.example.org');
  assert.match(misspelt.note, /frnt@a\.example\.org is not a hosted address/);
  await run('edge', 'update', username, '--address', username);
  await run('edge', 'update', username, '--inbound', 'unpacked');
  const rotated = JSON.parse((await run('edge', 'rotate-password', username, '--json')).out) as {
    passwordId: string;
  };
  await run('edge', 'revoke-password', username, rotated.passwordId);
  const url = 'https://ecr.example.org/api/receiveReportabilityResponse';
  const database = new Database(path.join(folder, 'openhisp.db'), { readonly: true });
  after(() => database.close());
  const counting = database.prepare<[], number>(
    "select count(*) from audit_event where action = 'edge.update'",
  );
  const changes = (): number => counting.pluck().get() ?? 0;
  const before = changes();
  assert.match((await run('edge', 'post-failures', username, url)).out, /^The target is set\.$/m);
  // Sent again, it changes nothing.
  assert.match((await run('edge', 'post-failures', username, url)).out, /^Nothing to change\.$/m);
  assert.equal(changes(), before + 1);
  for (const target of ['http://ecr.example.org/x', 'https://127.0.0.1/x'])
    await assert.rejects(run('edge', 'post-failures', username, target), { code: 'WEBHOOK_REQUEST_INVALID' });
  for (const target of ['lmtp://127.0.0.1:24', 'lmtp://store.example.org:24', url])
    await assert.rejects(run('edge', 'hand-over', username, target), { code: 'WEBHOOK_REQUEST_INVALID' });
  assert.equal(changes(), before + 1);
  const shown = JSON.parse((await run('edge', 'show', username)).out) as {
    failuresTo?: { url: string };
    policies: object;
  };
  assert.equal(shown.failuresTo?.url, url);
  assert.equal((shown.policies as { inbound?: string }).inbound, 'unpacked');
  assert.match((await run('edge', 'post-failures', username)).out, /^The target is removed\.$/m);
  assert.equal(changes(), before + 2);
  await run('edge', 'disable', username);
  assert.match((await run('edge', 'list')).out, /^front@a\.example\.org\s+disabled/m);
});

test('organizations are added, shown with what is theirs, changed, and given a domain', async () => {
  const details = ['--city', 'Boston', '--state', 'ma', '--contact', 'Office, +1 617 555 0100'];
  const npi = '1234567893';
  const made = await run('organization', 'add', 'Example Clinic', '--id', 'clinic', '--npi', npi, ...details);
  assert.equal(made.out, 'clinic\n');
  await assert.rejects(run('organization', 'add', 'x', '--npi', '1234567890'), /check digit/);
  await run('organization', 'edit', 'operator', '--name', 'Example HISP');
  await run('domain', 'add', 'clinic.example.org', '--organization', 'clinic');
  await assert.rejects(run('domain', 'add', 'x.example.org', '--organization', 'none'), /organization none/);
  const ofClinic = ['--organization', 'clinic', '--address', '@clinic.example.org'];
  const foreign = run('client', 'create', 'Foreign', '--address', '@clinic.example.org');
  await assert.rejects(foreign, /@clinic\.example\.org" is not of the client's organization, operator/);
  await run('client', 'create', 'EHR', '--client-id', 'clinic-ehr', ...ofClinic);
  const listed = await run('organization', 'list');
  assert.match(
    listed.out,
    /^operator\tactive\tExample HISP\t.*\nclinic\tactive\tExample Clinic\t1234567893\t1 domains/,
  );
  const shown = JSON.parse((await run('organization', 'show', 'clinic')).out) as Record<string, unknown>;
  assert.deepEqual(
    [shown['domains'], shown['clients'], shown['contacts']],
    [['clinic.example.org'], [{ clientId: 'clinic-ehr', name: 'EHR' }], ['Office, +1 617 555 0100']],
  );
  const move = () => run('organization', 'move-domain', 'clinic.example.org', 'operator');
  await assert.rejects(
    move(),
    /client clinic-ehr of organization clinic has addresses of clinic\.example\.org/,
  );
  await run('client', 'update', 'clinic-ehr', '--address');
  await move();
  await run(
    'client',
    'update',
    'clinic-ehr',
    '--organization',
    'operator',
    '--address',
    '@clinic.example.org',
  );
  const audit = await run('audit', 'list', '--action', 'domain.move');
  assert.match(audit.out, /clinic\.example\.org/);
});

test('legal holds of addresses and organizations are added with a reason, listed, and released once', async () => {
  await run('organization', 'add', 'Held Clinic', '--id', 'held');
  const hold = async (...words: string[]) =>
    JSON.parse((await run('legal-hold', 'add', ...words, '--reason', 'Case 12', '--json')).out) as {
      readonly id: string;
      readonly subject: string;
    };
  const ofAddress = await hold('address', 'Dr.Zed@Elsewhere.example');
  const ofOrganization = await hold('organization', 'held');
  assert.equal(ofAddress.subject, 'dr.zed@elsewhere.example');
  const { out } = await run('legal-hold', 'list');
  const lines = out.trim().split('\n');
  assert.match(lines[0] ?? '', /address.*dr\.zed@elsewhere\.example.*operator:jo\.miller.*Case 12.*in force/);
  assert.match(lines[1] ?? '', /organization.*held.*in force/);
  for (const [kind, name, text] of [
    ['organization', 'nobody', /no organization has this id/],
    ['organization', 'held', /held is on legal hold already/],
    ['message', '<nothing@x.example>', /no sent message has the id/],
    ['address', 'nobody', /not a Direct address/],
  ] as const) {
    const refused = await run('legal-hold', 'add', kind, name, '--reason', 'Case 13');
    assert.equal(refused.exitCode, 1);
    assert.match(refused.note, text);
  }
  await assert.rejects(run('legal-hold', 'add', 'address', 'a@b.example'), /--reason/);
  const released = await run('legal-hold', 'release', ofOrganization.id, '--reason', 'Settled');
  assert.equal(released.out, `held: the legal hold ${ofOrganization.id} is released\n`);
  const again = await run('legal-hold', 'release', ofOrganization.id, '--reason', 'Again');
  assert.deepEqual([again.exitCode, /No legal hold in force/.test(again.note)], [1, true]);
  assert.doesNotMatch((await run('legal-hold', 'list')).out, /organization/);
  assert.match((await run('legal-hold', 'list', '--all')).out, /released .* by operator:jo\.miller: Settled/);
});
