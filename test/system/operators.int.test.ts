import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../support/run-command.ts';
import { verifyEvidence } from '../../src/app/cli/evidence/verify-evidence.ts';
import { createEdgeClient, demoAddress, ensureClient, partners } from '../../src/app/dev/index.ts';
import type { MessagingTables } from '../../src/service/messaging/index.ts';
import {
  openTestSandbox,
  readStatus,
  send,
  waitFor,
  type RecipientStatus,
  type TestSandbox,
} from './sandbox-fixture.ts';

const newMessageId = 'urn:uuid:00000000-0000-4000-8000-000000000000';
const secret = 'Quillfeather-of-the-subject';
/** A domain of the silent mail server that nobody answers for: its mail host's address has no listener. */
/** Its name server answers every question with SERVFAIL. */
const downDomain = 'direct.down.example';

interface FlattenedJws {
  readonly payload: string;
  readonly protected: string;
  readonly signature: string;
}

interface Waiting extends RecipientStatus {
  readonly statusText: string;
  readonly attempts?: number;
  readonly nextAttemptTime?: string;
}

interface Run {
  readonly out: string;
  readonly note: string;
  readonly exitCode: unknown;
  readonly json: { items: Record<string, never>[]; next?: string } & Record<string, never>;
}

let world: TestSandbox;
let delivered = '';
let failed = '';
let waiting = '';

before(async () => {
  world = await openTestSandbox({ 'delivery.giveUpHours': '1', 'delivery.retryMinutes': '0.02,5' });
  world.sandbox.world.publish({
    name: downDomain,
    findRecords: () => Promise.reject(new Error('the name server is broken')),
  });
  delivered = await sendTo(partners.processed);
  failed = await sendTo(partners.untrusted);
  waiting = await sendTo(`someone@${downDomain}`);
});
after(() => world.close());

function sendTo(to: string): Promise<string> {
  return send(world.client, {
    fromDirectAddress: demoAddress,
    toDirectAddress: to,
    messageSubject: secret,
    messageBody: secret,
    patientLastname: secret,
  });
}

/** Runs one command in this process, on the data folder of the running service. */
async function run(...words: string[]): Promise<Run> {
  const env = {
    OPENHISP_DATA_DIR: path.join(world.folder, 'hisp'),
    OPENHISP_STORAGE_URL: world.databases[0]?.location.url,
    OPENHISP_OPERATOR: 'jo',
  };
  const { out, note, exitCode } = await runCommand(env, words);
  assert.ok(!out.includes(secret) && !note.includes(secret), 'no content is shown');
  const json = (words.includes('--json') && out !== '' ? JSON.parse(out) : {}) as Run['json'];
  return { out, note, exitCode, json };
}

const readWaiting = async (): Promise<Waiting | undefined> =>
  (await readStatus(world.client, waiting)).result[0] as Waiting | undefined;

describe('an operator of the running service', () => {
  it('sees, as the client does, why a message waits and when it is tried next', async () => {
    const status = await waitFor(readWaiting, (one) => one?.nextAttemptTime !== undefined);
    assert.equal(status?.status, 'queued');
    assert.notEqual(status.reason, '');
    assert.match(status.statusText, /^Not sent yet\. .+ The delivery will be retried\.$/);
    const shown = await run('message', 'show', waiting, '--json');
    const queue = await run('queue', 'list', downDomain, '--json');
    assert.deepEqual(
      [queue.json.items.length, queue.json.items[0]?.['messageId'], queue.json.items[0]?.['lastReason']],
      [1, shown.json['wireId'], status.reason],
    );
    await waitFor(
      () => run('message', 'show', waiting),
      ({ out }) => /^waits\tdirect\.down\.example\tnext /m.test(out),
    );
    const line = world.logged.find(
      (one) => one.startsWith('warn an attempt to deliver failed') && one.includes(downDomain),
    );
    assert.ok(line?.includes(`"reason":"${status.reason}"`));
  });

  it('finds a message by each of its names, by address, client, state, reason and time', async () => {
    await waitFor(
      () => readStatus(world.client, failed),
      ({ messageStatus }) => messageStatus === 'failed',
    );
    const { json } = await run('message', 'show', failed, '--json');
    const { wireId, requestId, clientId } = json as unknown as Record<string, string>;
    for (const words of [
      ['--id', failed],
      ['--id', failed.slice('urn:uuid:'.length)],
      ['--id', wireId ?? ''],
      ['--request', requestId ?? ''],
      ['--address', partners.untrusted],
      ['--address', demoAddress, '--state', 'failed'],
      ['--client', clientId ?? '', '--reason', 'untrusted'],
      ['--state', 'failed', '--since', '1h'],
    ]) {
      const found = await run('message', 'find', ...words, '--json');
      assert.deepEqual(
        found.json.items.map((one) => [one['messageId'], one['state'], one['reason']]),
        [[failed, 'failed', 'untrusted']],
        words.join(' '),
      );
    }
    assert.equal((await run('message', 'find', '--until', '1h', '--json')).json.items.length, 0);
    assert.equal((await run('message', 'find', '--request', 'unknown', '--json')).json.items.length, 0);
    const refused = await run('message', 'find', '--state', 'lost');
    assert.deepEqual([refused.exitCode, refused.out], [1, '']);
  });

  it('pages through messages, newest first, each once', async () => {
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const words = cursor === undefined ? [] : ['--cursor', cursor];
      const page = await run('message', 'find', '--limit', '1', '--json', ...words);
      seen.push(...page.json.items.map((one) => one['messageId']));
      cursor = page.json.next;
    } while (cursor !== undefined);
    assert.deepEqual(seen, [waiting, failed, delivered]);
    assert.equal((await run('message', 'find', '--cursor', 'x')).exitCode, 1);
  });

  it('holds and releases a destination, has it tried at once, and ends a message', async () => {
    const attempts = async (): Promise<number> => (await readWaiting())?.attempts ?? 0;
    const before = await attempts();
    assert.equal((await run('queue', 'retry', downDomain)).exitCode, undefined);
    await waitFor(attempts, (count) => count > before);
    await run('queue', 'hold', downDomain, '--reason', 'maintenance');
    assert.match((await run('queue', 'list')).note, /direct\.down\.example is on hold since .*: maintenance/);
    assert.match((await readWaiting())?.statusText ?? '', /Not sent yet/);
    assert.equal((await run('queue', 'release', downDomain)).exitCode, undefined);
    assert.equal((await run('queue', 'release', downDomain)).exitCode, 1);
    const none = await run('queue', 'retry', 'other.example');
    assert.deepEqual(
      [none.out, none.exitCode],
      ['no delivery to other.example waits; list the destinations: openhisp queue list\n', 1],
    );
    const delivering = await run('message', 'retry', delivered);
    assert.match(delivering.out, /^no delivery of the message waits; see its state: openhisp message show /);
    assert.equal((await run('message', 'fail', delivered)).out, delivering.out);
    assert.match(
      (await run('message', 'show', 'none')).note,
      /no sent message has the id none\. Search: openhisp message find --address ADDRESS/,
    );
    const ended = await waitFor(
      () => run('message', 'fail', waiting, '--json'),
      ({ json }) => Number(json['failed']) === 1,
    );
    assert.deepEqual(ended.json, { failed: 1, running: 0 });
    const status = await readStatus(world.client, waiting);
    assert.deepEqual([status.messageStatus, status.result[0]?.reason], ['failed', 'cancelled']);
    assert.equal((await run('message', 'retry', waiting)).exitCode, 1);
    assert.equal((await run('message', 'show', newMessageId)).exitCode, 1);
    const more = await sendTo(`another@${downDomain}`);
    await waitFor(
      () => run('queue', 'fail', downDomain.toUpperCase(), '--json'),
      ({ json }) => Number(json['failed']) === 1,
    );
    assert.equal((await readStatus(world.client, more)).result[0]?.reason, 'cancelled');
  });

  it('sees rejected mail with sender, recipient and reason', async () => {
    await world.sandbox.world.hisp.messaging.acceptInbound({
      mailFrom: 'spam@direct.stranger.example',
      recipients: [demoAddress],
      message: Buffer.from('From: spam@direct.stranger.example\r\n\r\nnot encrypted\r\n'),
    });
    const found = await waitFor(
      () => run('inbound', 'list', '--from', 'stranger.example', '--json'),
      ({ json }) => json.items.length > 0,
    );
    const [entry] = found.json.items as unknown as Record<string, unknown>[];
    assert.deepEqual(
      [entry?.['kind'], entry?.['from'], entry?.['to'], entry?.['reason']],
      ['rejected', 'spam@direct.stranger.example', [demoAddress], 'SMIME_NOT_ENCRYPTED'],
    );
    const shown = (await run('inbound', 'show', String(entry?.['id']))).out;
    assert.match(shown, /^reason\tSMIME_NOT_ENCRYPTED$/m);
    assert.match(shown, /^text\t.*not an encrypted message/m);
    assert.match(shown, /^advice\t./m);
    assert.equal((await run('inbound', 'list', '--reason', 'OTHER', '--json')).json.items.length, 0);
    assert.equal((await run('inbound', 'show', 'nothing')).exitCode, 1);
    for (const command of ['show', 'retry', 'fail', 'evidence'])
      assert.equal((await run('message', command, 'nothing')).exitCode, 1);
    for (const action of [
      'message.show',
      'message.retry',
      'message.fail',
      'message.evidence',
      'inbound.show',
    ])
      assert.match((await run('audit', 'list', '--action', action)).out, /refused.*nothing/, action);
  });

  it('proves a delivery: the sent bytes and the signed MDNs, in one document that is verified offline', async () => {
    await waitFor(
      () => readStatus(world.client, delivered),
      ({ messageStatus }) => messageStatus === 'processed',
    );
    const file = path.join(world.folder, 'evidence.json');
    assert.equal((await run('message', 'evidence', delivered, '--out', file)).exitCode, undefined);
    const fromApi = (await world.client.get(
      `/messaging/dirmsg/evidence/${encodeURIComponent(delivered)}`,
    )) as FlattenedJws;
    const text = await readFile(file, 'utf8');
    for (const one of [text, JSON.stringify(fromApi)]) {
      const verified = await verifyEvidence(one);
      assert.deepEqual(verified.problems, []);
      const [recipient] = verified.recipients;
      assert.deepEqual(
        [recipient?.address, recipient?.status, recipient?.mdns.map(({ disposition }) => disposition)],
        [partners.processed, 'processed', ['processed']],
      );
      assert.match(recipient?.sent[0]?.sha256 ?? '', /^[0-9a-f]{64}$/);
      assert.ok((recipient?.mdns[0]?.signerPath.length ?? 0) >= 2);
      assert.equal(recipient?.mdns[0]?.isPathValidated, true);
      assert.equal(verified.document.fromDirectAddress, demoAddress);
    }
    const page = await run('evidence', 'verify', file);
    assert.match(page.out, /^MDN +processed, received .*\n(.*\n)*All signatures are valid\.\n$/m);
    assert.equal(page.exitCode, undefined);
    assert.equal((await run('message', 'evidence', delivered, '--out', file)).exitCode, 1);
  });

  it('the hash is that of the bytes that the peer was given', async () => {
    const messageId = await sendTo(partners.expired);
    const mail = await waitFor(
      () => world.sandbox.world.silentMail.find(({ recipients }) => recipients.includes(partners.expired)),
      (one) => one !== undefined,
    );
    await waitFor(
      () => readStatus(world.client, messageId),
      ({ messageStatus }) => messageStatus !== 'queued',
    );
    const signed = (await world.client.get(
      `/messaging/dirmsg/evidence/${encodeURIComponent(messageId)}`,
    )) as FlattenedJws;
    const sent = (await verifyEvidence(JSON.stringify(signed))).recipients[0]?.sent[0];
    assert.equal(
      sent?.sha256,
      createHash('sha256')
        .update(mail?.message ?? '')
        .digest('hex'),
    );
  });

  it('evidence that was changed is not valid', async () => {
    const signed = (await world.client.get(
      `/messaging/dirmsg/evidence/${encodeURIComponent(delivered)}`,
    )) as FlattenedJws;
    type Document = {
      createdTime: string;
      wireMessageId: string;
      result: { mdns: { signerPath: string[]; signerCertificates: string[] }[] }[];
    };
    const change = async (work: (document: Document) => void): Promise<readonly string[]> => {
      const document = JSON.parse(Buffer.from(signed.payload, 'base64url').toString()) as Document;
      work(document);
      const payload = Buffer.from(JSON.stringify(document)).toString('base64url');
      return (await verifyEvidence(JSON.stringify({ ...signed, payload }))).problems;
    };
    assert.deepEqual(await change(() => {}), []);
    const unsigned = 'the signature of the document is invalid';
    assert.deepEqual(await change((document) => (document.createdTime = new Date().toISOString())), [
      unsigned,
    ]);
    const without = await change((document) => document.result[0]?.mdns.pop());
    assert.equal(without.length, 2);
    assert.match(without[1] ?? '', /no valid MDN/);
    assert.match(
      (await change((document) => (document.wireMessageId = '<x@y>')))[1] ?? '',
      /not about <x@y>/,
    );
    const otherPath = await change((document) => {
      const [mdn] = document.result[0]?.mdns ?? [];
      if (mdn !== undefined) mdn.signerCertificates = mdn.signerCertificates.toReversed();
    });
    assert.match(otherPath[1] ?? '', /not those of its signer's path/);
    assert.match(
      (await change((document) => (document.createdTime = '2001-01-01T00:00:00.000Z')))[1] ?? '',
      /was not valid at/,
    );
    for (const text of ['', '[]', '{}', JSON.stringify({ ...signed, protected: 'e30' })])
      await assert.rejects(verifyEvidence(text), SyntaxError);
    assert.equal((await run('evidence', 'verify', path.join(world.folder, 'missing'))).exitCode, 1);
  });

  it('SEC-05: the kept MDNs are sealed, and another client gets no evidence', async () => {
    const rows = await world.sandbox.world.hisp.storage
      .tables<MessagingTables>()
      .selectFrom('mdn_evidence')
      .selectAll()
      .execute();
    assert.ok(rows.length > 0);
    assert.ok(rows.every((row) => !Buffer.from(row.sealed_mdn).includes('isposition')));
    const hisp = world.sandbox.world.hisp;
    const file = path.join(world.folder, 'other-client.json');
    const other = createEdgeClient(
      await ensureClient({ hisp, file, name: 'other', directAddresses: ['other@direct.riverside.example'] }),
    );
    for (const id of [delivered, newMessageId])
      await assert.rejects(other.get(`/messaging/dirmsg/evidence/${encodeURIComponent(id)}`), /404/);
  });

  it('leaves a row with his name for each call, and the identifiers alone', async () => {
    const { out } = await run('audit', 'list', '--actor', 'operator:jo', '--limit', '500');
    const actions = new Set(
      out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { action: string }).action),
    );
    for (const action of [
      'message.find',
      'message.show',
      'message.retry',
      'message.fail',
      'queue.list',
      'queue.retry',
      'queue.hold',
      'queue.release',
      'inbound.list',
      'inbound.show',
      'message.evidence',
    ])
      assert.ok(actions.has(action), action);
  });
});
