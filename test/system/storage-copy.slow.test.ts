import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../support/run-command.ts';
import { createCliContext } from '../../src/app/cli/context.ts';
import { createEdgeClient, demoAddress, partners, startSandbox } from '../../src/app/dev/index.ts';
import { startHisp } from '../../src/app/server/index.ts';
import { silentLog } from '../../src/core/index.ts';
import { createTestDatabase, needsBothEngines, type TestDatabase } from '../support/storage.ts';
import { openTestSandbox, readStatus, send, waitFor, type TestSandbox } from './sandbox-fixture.ts';

const password = 'never-to-be-printed';

let world: TestSandbox;
let target: TestDatabase;
let url: string;

/** Called for what is printed. */
let onPrint = (_text: string): void => {};

/** Runs `openhisp storage …` on the sandbox's HISP; what it prints, or how it failed. */
async function run(...words: string[]): Promise<string> {
  let output = '';
  const env = { OPENHISP_DATA_DIR: path.join(world.folder, 'hisp'), OPENHISP_STORAGE_URL: url };
  try {
    await runCommand(env, ['storage', ...words], (text) => {
      output += text;
      onPrint(text);
    });
  } catch (error) {
    output += String(error);
  }
  assert.ok(!output.includes(password), output);
  return output;
}

interface InboxPage {
  readonly result: readonly { readonly messageId: string }[];
}

describe('a populated installation moves to PostgreSQL', needsBothEngines(), () => {
  let messageId: string;
  let welcome: unknown;
  let received: string;

  before(async () => {
    world = await openTestSandbox();
    target = await createTestDatabase('postgresql');
    const address = new URL(target.location.url ?? '');
    address.password = password;
    url = address.href;
    messageId = await send(world.client, {
      fromDirectAddress: demoAddress,
      toDirectAddress: partners.processed,
      messageSubject: 'A referral',
      messageBody: 'before the move',
    });
    await waitFor(
      () => readStatus(world.client, messageId),
      (answer) => answer.result[0]?.final === true,
    );
    const page = await waitFor(
      async () =>
        (await world.client.get(`/messaging/dirmsg/inbox?toDirectAddress=${demoAddress}`)) as InboxPage,
      ({ result }) => result.length > 0,
    );
    received = page.result[0]?.messageId ?? '';
    welcome = await world.client.get(`/messaging/dirmsg/inbox/${received}`);
  });
  after(() => world.close());

  it('is refused while the service runs', async () => {
    assert.match(await run('copy'), /another server is running/);
  });

  it('until it is copied, commands and the server refuse the empty database, and store nothing in it', async () => {
    await world.sandbox.close();
    const dataDir = path.join(world.folder, 'hisp');
    const refusal = {
      code: 'PLATFORM_INSTALLATION_MISSING',
      message: /openhisp\.db was not copied to it\. Stop the service, and run: openhisp storage copy/,
    };
    const context = createCliContext({
      env: { OPENHISP_DATA_DIR: dataDir, OPENHISP_STORAGE_URL: url },
      stdout: { write: () => {} },
      stderr: { write: () => {} },
    });
    await assert.rejects(context.openInstallation(), refusal);
    const config = await context.loadConfig();
    await assert.rejects(startHisp({ config, log: silentLog }), refusal);
    // Without checkpoints nothing else says that the database is another one.
    const checkpoints = path.join(dataDir, 'audit-checkpoints.jws');
    const kept = await readFile(checkpoints);
    await rm(checkpoints);
    await assert.rejects(context.openInstallation(), refusal);
    await writeFile(checkpoints, kept);
  });

  it('copies and verifies every table and the audit chain', async () => {
    const mark = path.join(world.folder, 'hisp', 'openhisp.db.copied');
    let isMarked: boolean | undefined;
    // A command that is killed from here on has copied all.
    onPrint = (text) => {
      if (text.includes('audit chain: ')) isMarked = existsSync(mark);
    };
    const output = await run('copy');
    assert.equal(isMarked, true);
    assert.match(output, /^message\t[1-9]\d*\t[0-9a-f]{64}$/m);
    assert.match(output, /^audit chain: [1-9]\d* events, last hash [0-9a-f]{64}$/m);
    assert.match(output, /^[1-9]\d* rows in \d+ tables copied and verified: 127\.0\.0\.1:\d+\/test_\w+$/m);
    assert.match(await run('compare'), /tables are the same/);
  });

  it('refuses a target that was copied to already', async () => {
    assert.match(await run('copy'), /the target is not empty/);
  });

  it('the file, an old state from now on, is refused without the address of PostgreSQL', async () => {
    const dataDir = path.join(world.folder, 'hisp');
    const find = (env: Readonly<Record<string, string>>) =>
      createCliContext({
        env: { OPENHISP_DATA_DIR: dataDir, ...env },
        stdout: { write: () => {} },
        stderr: { write: () => {} },
      }).findInstallation();
    await assert.rejects(find({}), {
      code: 'PLATFORM_INSTALLATION_MISSING',
      message: /openhisp\.db was copied to 127\.0\.0\.1:\d+\/test_\w+ on \d{4}-.* Set OPENHISP_STORAGE_URL/,
    });
    assert.equal((await find({ OPENHISP_STORAGE_URL: url })).storage.url, url);
    const mark = path.join(dataDir, 'openhisp.db.copied');
    const kept = await readFile(mark);
    await rm(mark);
    assert.equal((await find({})).storage.url, undefined);
    await writeFile(mark, kept);
  });

  it('finds a changed, a missing and an added row in the copy', async () => {
    for (const [change, undo] of [
      [
        "update message set client_id = client_id || 'x'",
        'update message set client_id = left(client_id, -1)',
      ],
      [
        'create table kept as select * from inbox_copy; delete from inbox_copy',
        'insert into inbox_copy select * from kept; drop table kept',
      ],
    ] as const) {
      await target.runRaw(change);
      assert.match(await run('compare'), /differ/, change);
      await target.runRaw(undo);
    }
    assert.match(await run('compare'), /tables are the same/);
  });

  it('continues in PostgreSQL: old messages are read, new ones sent, and the directory answers', async () => {
    const moved = await startSandbox({
      folder: world.folder,
      httpPort: 0,
      log: silentLog,
      storageUrls: { own: url },
    });
    try {
      const client = createEdgeClient(moved.credentials);
      assert.equal((await readStatus(client, messageId)).messageStatus, 'processed');
      assert.deepEqual(await client.get(`/messaging/dirmsg/inbox/${received}`), welcome);
      const found = (await client.get(
        '/provider-directory/v2/providers?prov_last_name=smith&org_state=TX',
      )) as {
        totalCount: string;
      };
      assert.match(found.totalCount, /^[1-9]\d*$/);
      const id = await send(client, {
        fromDirectAddress: demoAddress,
        toDirectAddress: partners.processed,
        messageSubject: 'A referral',
        messageBody: 'after the move',
      });
      const status = await waitFor(
        () => readStatus(client, id),
        (answer) => answer.result[0]?.final === true,
      );
      assert.equal(status.messageStatus, 'processed');
    } finally {
      await moved.close();
    }
  });
});
