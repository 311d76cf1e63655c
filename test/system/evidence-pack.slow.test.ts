/** The pack of a HISP that has sent and received, made by the command and checked by whoever gets the file. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand, type CommandRun } from '../support/run-command.ts';
import { describeError } from '../../src/app/cli/describe-error.ts';
import { demoAddress, partners } from '../../src/app/dev/index.ts';
import type { EvidencePack } from '../../src/app/evidence-pack/index.ts';
import { openTestSandbox, readStatus, send, waitFor } from './sandbox-fixture.ts';

test('a pack is the same when made again, and one octet changed in it or in the database is found', async (t) => {
  const { sandbox, client, folder, databases, close } = await openTestSandbox();
  t.after(close);
  const [own] = databases;
  assert.ok(own !== undefined);
  const { file, url } = own.location;
  const env = {
    OPENHISP_DATA_DIR: path.join(folder, 'hisp'),
    ...(url === undefined ? { OPENHISP_STORAGE_FILE: file ?? '' } : { OPENHISP_STORAGE_URL: url }),
  };
  const run = async (...words: string[]): Promise<{ out: string; note: string; code: number }> => {
    try {
      const { out, note, exitCode } = await runCommand(env, words);
      return { out, note, code: exitCode ?? 0 };
    } catch (error) {
      const { out, note } = error as Error & CommandRun;
      return { out, note: note + describeError(error), code: 1 };
    }
  };
  const at = (name: string): string => path.join(folder, name);
  const hostile = '<script>alert(1)</script>\u202Eevil';
  await sandbox.world.hisp.oauth.clients.create({ name: 'Clinic <b>&', scopes: ['messaging.api'] });
  await sandbox.world.hisp.audit.recordNow({
    action: 'bundle.add',
    actor: 'operator',
    outcome: 'ok',
    objects: { url: hostile },
  });
  const { credentials } = sandbox;
  const messageId = await send(client, {
    fromDirectAddress: demoAddress,
    toDirectAddress: partners.processed,
    messageSubject: 'x',
    messageBody: 'x',
  });
  await waitFor(
    () => readStatus(client, messageId),
    ({ result }) => result[0]?.final === true,
  );
  const until = new Date().toISOString();
  const period = ['--from', '2026-01-01', '--to', until];

  assert.match(
    (await run('evidence', 'pack', at('x.html'), '--from', until, '--to', '2026-01-01')).note,
    /--to: not later/,
  );
  assert.match(
    (await run('evidence', 'pack', at('x.html'), '--from', until, '--to', '2999-01-01')).note,
    /--to: in the future/,
  );
  assert.deepEqual((await run('evidence', 'pack', at('one.html'), ...period)).code, 0);
  assert.equal((await run('evidence', 'pack', at('two.html'), ...period)).code, 0);
  const page = await readFile(at('one.html'), 'utf8');
  assert.equal(await readFile(at('two.html'), 'utf8'), page);
  assert.match(
    (await run('evidence', 'pack', at('one.html'), ...period)).note,
    /exists already and is not overwritten/,
  );
  assert.ok(!page.includes('<script>alert') && !page.includes('\u202E') && !page.includes('Clinic <b>'));

  await writeFile(at('key.json'), (await run('audit', 'public-key')).out);
  const verified = await run('evidence', 'verify', at('one.html'), '--key', at('key.json'), '--json');
  assert.equal(verified.code, 0);
  const { pack, problems } = JSON.parse(verified.out) as { pack: EvidencePack; problems: string[] };
  assert.deepEqual(problems, []);
  assert.ok(pack.verification.length >= 5 && pack.verification.every(({ isIntact }) => isIntact));
  assert.ok(pack.domains.some(({ keys, anchors }) => keys.length > 0 && anchors.length > 0));
  assert.ok(pack.changes.some(({ action }) => action === 'client.create'));
  assert.equal(pack.changes.filter(({ action }) => action === 'token.issue').length, 0);
  assert.ok(
    pack.signIns.some(
      ({ action, outcome, count }) => action === 'token.issue' && outcome === 'ok' && count > 0,
    ),
  );
  assert.ok(pack.deliveries[0]?.recipients !== undefined && pack.deliveries[0].delivered !== undefined);
  assert.ok((pack.serviceTime[0]?.served ?? 0) > 0);
  assert.ok(pack.components.some(({ name }) => name === 'fastify'));
  assert.equal(pack.settings.find(({ name }) => name === 'vault.masterKeyFile')?.value, 'set');
  const secrets = [credentials.clientSecret, ...(url === undefined ? [] : [url]), folder];
  for (const secret of secrets)
    assert.ok(!verified.out.includes(secret), 'no secret, URL of the database or path');

  for (const [what, changed] of [
    ['the page', page.replace('Evidence of operation</h1>', 'Evidence of operations</h1>')],
    [
      'the statement',
      page.replace(
        /(id="statement">[\w-]+\.)(.)/,
        (_, head: string, octet: string) => head + (octet === 'e' ? 'f' : 'e'),
      ),
    ],
    [
      'a second statement',
      page.replace('</body>', '<script type="application/jose" id="statement">x</script></body>'),
    ],
    ['the signature', page.replace(/.(?=.{20}<\/script>)/, (octet) => (octet === 'A' ? 'B' : 'A'))],
  ] as const) {
    assert.notEqual(changed, page, what);
    await writeFile(at('changed.html'), changed);
    assert.equal((await run('evidence', 'verify', at('changed.html'))).code, 1, what);
  }
  const other = JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43), kid: 'another' });
  await writeFile(at('other.json'), other);
  const foreign = await run('evidence', 'verify', at('one.html'), '--key', at('other.json'));
  assert.equal(foreign.code, 1);
  assert.match(foreign.out, /not by another/);

  const storage = await own.open();
  t.after(() => storage.close());
  await storage.db
    .updateTable('oauth_client' as never)
    .set({ name: 'Clinic B' } as never)
    .execute();
  const made = await run('evidence', 'pack', at('damaged.html'), ...period);
  assert.equal(made.code, 1);
  assert.match(made.out, /NOT WHOLE {2}rows: oauth_client:/);
  const damaged = await run('evidence', 'verify', at('damaged.html'));
  assert.equal(damaged.code, 1);
  assert.match(damaged.out, /stored data was not whole: rows: oauth_client:/);
});
