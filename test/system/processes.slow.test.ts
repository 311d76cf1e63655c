import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createEdgeClient, demoAddress, partners, type EdgeCredentials } from '../../src/app/dev/index.ts';
import { endWithTests, freePort } from '../support/processes.ts';
import { readStatus, send, waitFor } from './sandbox-fixture.ts';

const root = path.resolve(import.meta.dirname, '../..');

interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exit: Promise<number | null>;
}

let folder: string;
let port: number;
const children = new Set<ChildProcess>();

function start(): Running {
  const child = endWithTests(
    spawn(process.execPath, ['bin/openhisp.js', 'sandbox'], {
      cwd: root,
      env: { ...process.env, DATA_DIR: folder, PORT: String(port), OPENHISP_MESSAGING_MAX_RECIPIENTS: '2' },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  children.add(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exit = once(child, 'close').then(([code]) => {
    children.delete(child);
    return code as number | null;
  });
  return { child, output: () => output, exit };
}

async function commandLine(...words: readonly string[]): Promise<void> {
  const { dataDir } = await readCredentials();
  const child = endWithTests(
    spawn(process.execPath, ['bin/openhisp.js', ...words, '--data-dir', dataDir], {
      cwd: root,
      stdio: 'ignore',
    }),
  );
  assert.deepEqual(await once(child, 'close'), [0, null]);
}

async function isReady(): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health/ready`).then(
    (response) => response.ok,
    () => false,
  );
}

async function whenReady(running: Running): Promise<void> {
  const isStarted = async (): Promise<boolean> => {
    assert.equal(running.child.exitCode, null, running.output());
    return (await isReady()) && running.output().includes('is ready');
  };
  await waitFor(isStarted, Boolean, 60);
}

interface WrittenCredentials extends EdgeCredentials {
  readonly dataDir: string;
  readonly consoleUrl: string;
  readonly consoleLink: string;
}

async function readCredentials(): Promise<WrittenCredentials> {
  return JSON.parse(
    await readFile(path.join(folder, 'sandbox/credentials.json'), 'utf8'),
  ) as WrittenCredentials;
}

/** As the console's page does with what stands behind `#`. */
async function signInByLink(link: string, status: number): Promise<void> {
  const { consoleUrl } = await readCredentials();
  const response = await fetch(`${consoleUrl}/admin/v1/sign-in/link`, {
    method: 'POST',
    headers: { origin: consoleUrl, 'content-type': 'application/json' },
    body: JSON.stringify({ token: new URL(link).hash.replace('#enter=', '') }),
  });
  assert.equal(response.status, status, await response.text());
}

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'openhisp-process-'));
  port = await freePort();
});
after(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

describe('the sandbox as a process', () => {
  it('starts, writes credentials.json as promised, refuses a second one because the port is in use, and stops on Ctrl-C', async () => {
    const first = start();
    await waitFor(isReady, Boolean, 60);
    const credentials = (await readCredentials()) as WrittenCredentials & {
      fromDirectAddress: string;
      dataDir: string;
      partners: object;
    };
    assert.equal(credentials.baseUrl, `http://127.0.0.1:${port}`);
    assert.equal(credentials.fromDirectAddress, demoAddress);
    assert.deepEqual(Object.keys(credentials.partners), [
      'processed',
      'dispatched',
      'failed',
      'expired',
      'untrusted',
      'noCertificate',
    ]);
    assert.equal(credentials.dataDir, path.join(folder, 'sandbox/hisp'));
    await whenReady(first);
    assert.match(first.output(), new RegExp(credentials.clientSecret));

    const second = start();
    assert.equal(await second.exit, 1);
    assert.match(second.output(), new RegExp(`Port ${port} is in use`));
    assert.equal(
      second
        .output()
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('starting')).length,
      1,
    );

    first.child.kill('SIGINT');
    assert.equal(await first.exit, 0, first.output());
  });

  it('applies settings of the environment to its own HISP and not to the partner', async () => {
    const running = start();
    await whenReady(running);
    const message = (fromDirectAddress: string) => ({
      fromDirectAddress,
      toDirectAddress: [partners.processed, partners.dispatched, demoAddress],
      messageSubject: 'three recipients',
      messageBody: 'three recipients',
    });
    const own = createEdgeClient(await readCredentials());
    await assert.rejects(own.post('/messaging/dirmsg/send_ccda', message(demoAddress)), { status: 400 });
    const partner = createEdgeClient({
      ...(JSON.parse(
        await readFile(path.join(folder, 'sandbox/partner-client.json'), 'utf8'),
      ) as EdgeCredentials),
      baseUrl: /partner HISP\s+(http:\S+)/.exec(running.output())?.[1] ?? '',
    });
    await send(partner, message(partners.processed));
    running.child.kill('SIGTERM');
    assert.equal(await running.exit, 0);
  });

  it('finds everything again at the next start, and lists an address that the operator hosts', async () => {
    const before = await readCredentials();
    const running = start();
    await whenReady(running);
    // The console's link is a new one, and its port may be another.
    const [now, then] = [await readCredentials(), before].map((all) => ({
      ...all,
      consoleUrl: '',
      consoleLink: '',
    }));
    assert.deepEqual(now, then);
    await signInByLink(before.consoleLink, 401);
    await signInByLink((await readCredentials()).consoleLink, 200);
    const found = (await createEdgeClient(before).get('/provider-directory/v2/providers?limit=1')) as {
      totalCount: string;
    };
    assert.ok(Number(found.totalCount) >= 10_000);
    await commandLine(
      'address',
      'add',
      'zoe@direct.riverside.example',
      '--last-name',
      'Zzyzx',
      '--zip',
      '62701',
    );
    const search = () =>
      createEdgeClient(before).get('/provider-directory/v2/providers?prov_last_name=zzyzx') as Promise<{
        totalCount: string;
      }>;
    await waitFor(search, (answer) => answer.totalCount === '1', 60);
    await commandLine('address', 'disable', 'zoe@direct.riverside.example');
    await waitFor(search, (answer) => answer.totalCount === '0', 60);
    running.child.kill('SIGTERM');
    assert.equal(await running.exit, 0);
  });

  it('a message whose send was answered 200 goes out once, though the process is killed right after the answer', async () => {
    const killed = start();
    await whenReady(killed);
    const credentials = await readCredentials();
    const client = createEdgeClient(credentials);
    const subject = `kill-${process.pid}`;
    const id = await send(client, {
      fromDirectAddress: demoAddress,
      toDirectAddress: partners.processed,
      messageSubject: subject,
      messageBody: 'must not be lost',
    });
    killed.child.kill('SIGKILL');
    await killed.exit;

    const again = start();
    await whenReady(again);
    const settled = await waitFor(
      () => readStatus(client, id),
      (answer) => answer.result[0]?.final === true,
      30,
    );
    assert.equal(settled.result[0]?.status, 'processed');
    const partnerFile = path.join(folder, 'sandbox/partner-client.json');
    const partnerUrl = /partner HISP\s+(http:\S+)/.exec(again.output())?.[1] ?? '';
    const partner = createEdgeClient({
      ...(JSON.parse(await readFile(partnerFile, 'utf8')) as EdgeCredentials),
      baseUrl: partnerUrl,
    });
    const page = (await partner.get(
      `/messaging/dirmsg/inbox?toDirectAddress=${partners.processed}&limit=100`,
    )) as {
      result: { messageId: string }[];
    };
    const subjects = await Promise.all(
      page.result.map(
        async ({ messageId }) =>
          ((await partner.get(`/messaging/dirmsg/inbox/${messageId}`)) as { messageSubject: string })
            .messageSubject,
      ),
    );
    assert.equal(subjects.filter((one) => one === subject).length, 1);
    again.child.kill('SIGINT');
    assert.equal(await again.exit, 0);
    assert.ok(existsSync(partnerFile));
  });
});
