import assert from 'node:assert/strict';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, before, describe, it, test } from 'node:test';
import type {
  AddressDetails,
  LegalHold,
  MessageDetails,
  MessagePage,
  Now,
} from '../../src/app/console/contract/index.ts';
import { demoAddress, partners } from '../../src/app/dev/index.ts';
import type { Role } from '../../src/service/operators/index.ts';
import { waitFor } from '../system/sandbox-fixture.ts';
import { timeScale } from '../support/time-scale.ts';
import { openAdminWorld, type AdminWorld } from './admin-world.ts';
import { startTestConsole } from './start-console.ts';

/** Texts that must never reach a browser. */
const canaries = {
  subject: 'CANARY-SUBJECT-7731',
  text: 'CANARY-TEXT-7732',
  fileName: 'canary-file-7733.txt',
  title: 'CANARY-TITLE-7734',
  content: 'CANARY-CONTENT-7735',
};

describe('messages in the console', () => {
  let world: AdminWorld;
  const sent = new Map<string, string>();

  before(async () => {
    // Longer on a busy machine, where an MDN may take as long as the sandbox waits for one.
    world = await openAdminWorld({
      'messaging.processedWindowMinutes': String(0.25 * timeScale()),
      'messaging.dispatchedWindowMinutes': String(0.5 * timeScale()),
    });
    for (const [name, to] of Object.entries(partners)) {
      const answer = (await world.client.post('/messaging/dirmsg/send_ccda', {
        fromDirectAddress: demoAddress,
        toDirectAddress: to,
        messageSubject: canaries.subject,
        messageBody: canaries.text,
        ...(name === 'dispatched' && { requestFinalDelivery: true }),
        emailAttachmentList: [
          {
            attachmentClass: 'text/plain',
            attachmentContent: Buffer.from(canaries.content).toString('base64'),
            attachmentTitle: canaries.title,
            attachmentFileName: canaries.fileName,
          },
        ],
      })) as { messageId: string };
      sent.set(name, answer.messageId);
    }
    await waitFor(
      async () => Promise.all([...sent.values()].map((id) => show(id))),
      (all) => all.every(({ body }) => body.recipients.every(({ isFinal }) => isFinal)),
      120,
    );
  });

  after(() => world?.close());

  const show = (messageId: string, role: Role = 'help-desk') =>
    world.call<MessageDetails>(role, 'GET', `/messages/${encodeURIComponent(messageId)}`);
  const list = (query: string) => world.call<MessagePage>('help-desk', 'GET', `/messages${query}`);
  const stationsOf = ({ body }: { body: MessageDetails }): string =>
    (body.recipients[0]?.stations ?? []).map(({ id, state }) => `${id}:${state}`).join(' ');

  it('draws the stages of each outcome, with reason and advice', async () => {
    const of = async (name: string) => show(sent.get(name) ?? '');
    assert.equal(
      stationsOf(await of('processed')),
      'accepted:ok certificate:ok trust:ok sent:ok processed:ok dispatched:not-needed',
    );
    assert.equal(
      stationsOf(await of('dispatched')),
      'accepted:ok certificate:ok trust:ok sent:ok processed:ok dispatched:ok',
    );
    assert.match(stationsOf(await of('failed')), /sent:ok processed:failed dispatched:not-(needed|reached)/);
    assert.match(stationsOf(await of('expired')), /sent:ok processed:failed/);
    assert.match(stationsOf(await of('untrusted')), /certificate:ok trust:failed sent:not-reached/);
    assert.match(stationsOf(await of('noCertificate')), /accepted:ok certificate:failed trust:not-reached/);
    for (const name of ['failed', 'expired', 'untrusted', 'noCertificate']) {
      const { body } = await of(name);
      assert.equal(body.level, 'failed', name);
      assert.notEqual(body.recipients[0]?.whatToDo, '', name);
      assert.notEqual(body.sentence, '', name);
    }
  });

  it('shows attempts, the path to the anchor, and the node that failed', async () => {
    const { body } = await show(sent.get('processed') ?? '');
    const attempt = body.recipients[0]?.attempts.at(-1);
    assert.equal(attempt?.outcome, 'sent');
    assert.match(attempt?.host ?? '', /lakeside/);
    const [path] = body.recipients[0]?.certificates ?? [];
    assert.equal(path?.state, 'trusted');
    const anchor = path?.nodes.at(-1);
    assert.equal(anchor?.role, 'anchor');
    assert.match(anchor?.subject ?? '', /\S/);
    // No MDN has shown this certificate: it is known from the attempt.
    const silent = await show(sent.get('expired') ?? '');
    for (const node of silent.body.recipients[0]?.certificates[0]?.nodes ?? assert.fail('no path'))
      for (const fact of ['subject', 'issuer', 'notBefore', 'notAfter'] as const)
        assert.match(node[fact] ?? '', /\S/, `${node.role}: ${fact}`);
    const untrusted = await show(sent.get('untrusted') ?? '');
    const [refused] = untrusted.body.recipients[0]?.certificates ?? [];
    assert.equal(refused?.state, 'refused');
    const failed = refused?.nodes.filter(({ state }) => state === 'failed');
    assert.deepEqual(
      failed?.map(({ role, code }) => [role, code]),
      [['missing', 'PKI_ISSUER_NOT_FOUND']],
    );
    assert.match(refused?.nodes[0]?.subject ?? '', /stranger/);
  });

  it('lists the audit rows of a message to who may read them, and writes one for each view', async () => {
    const withoutRows = await show(sent.get('processed') ?? '');
    assert.deepEqual(withoutRows.body.audit, []);
    const { body } = await show(sent.get('processed') ?? '', 'auditor');
    const actions = body.audit.map(({ action }) => action);
    assert.equal(actions[0], 'message.accept');
    assert.ok(actions.includes('message.sent'), actions.join());
    const views = body.audit.filter(({ action }) => action === 'message.show');
    assert.ok(views.length > 0);
    assert.ok(views.some(({ actor }) => actor === 'operator:script help-desk'));
  });

  it('finds a message by each of its names, and combines words', async () => {
    const { body } = await show(sent.get('untrusted') ?? '');
    const everyWay = [
      body.messageId,
      body.messageId.replace('urn:uuid:', ''),
      body.wireId,
      body.requestId,
      partners.untrusted,
      `${demoAddress} untrusted`,
      '@direct.stranger.example',
      'direct.stranger.example <-1h',
      'reason:untrusted',
      'failed direct.stranger.example',
    ];
    for (const q of everyWay) {
      const found = await list(`?q=${encodeURIComponent(q)}`);
      assert.equal(found.status, 200, q);
      assert.deepEqual(
        found.body.result.map(({ messageId }) => messageId),
        [body.messageId],
        q,
      );
    }
    const nothing = await list(`?q=${encodeURIComponent('direct.stranger.example >1h')}`);
    assert.deepEqual(nothing.body.result, []);
    const unread = await list('?q=smith%20state:lost');
    assert.deepEqual([unread.body.result, unread.body.unread], [[], ['smith', 'state:lost']]);
    const nobody = await list('?q=smith');
    assert.deepEqual([nobody.body.result, nobody.body.unread], [[], []]);
    const begun = await list(`?q=${body.messageId.slice(0, 'urn:uuid:'.length + 8)}`);
    assert.deepEqual(
      begun.body.result.map(({ messageId }) => messageId),
      [body.messageId],
    );
  });

  it('finds received messages, by direction, state and sender', async () => {
    const received = await waitFor(
      () => list('?direction=in'),
      ({ body }) => body.result.length > 0,
    );
    const [row] = received.body.result;
    assert.equal(row?.direction, 'in');
    assert.equal(row?.to, demoAddress);
    const ofSender = async (time: string): Promise<readonly string[]> => {
      const { body } = await list(`?q=${encodeURIComponent(`${row?.from} ${time}`)}&state=received`);
      return body.result.map(({ id }) => id);
    };
    assert.deepEqual([await ofSender(''), await ofSender('<1h')], [[row?.id], [row?.id]]);
    assert.deepEqual(await ofSender('>1h'), []);
    const { body } = await show(row?.wireId ?? '', 'operator');
    assert.equal(body.direction, 'in');
    assert.equal(body.audit[0]?.action, 'message.receive');
  });

  it('gives each row once when it is paged through', async () => {
    const rows: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { body: MessagePage } = await list(
        `?limit=2${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      assert.ok(page.body.result.length <= 2);
      rows.push(...page.body.result.map(({ id }) => id));
      cursor = page.body.next;
    } while (cursor !== null);
    const all = await list('?limit=200');
    assert.deepEqual(
      rows,
      all.body.result.map(({ id }) => id),
    );
    assert.equal(new Set(rows).size, rows.length);
    assert.ok(rows.length >= 7);
  });

  it('writes a ticket, retries and fails waiting deliveries', async () => {
    const ticket = await world.call(
      'help-desk',
      'GET',
      `/messages/${encodeURIComponent(sent.get('untrusted') ?? '')}/ticket`,
    );
    assert.match(ticket.text, /What to do {2}\S/);
    assert.match(ticket.text, /refused: PKI_ISSUER_NOT_FOUND/);
    const retried = await world.call<{ count: number; sentence: string }>(
      'help-desk',
      'POST',
      `/messages/${encodeURIComponent(sent.get('untrusted') ?? '')}/retry`,
    );
    assert.deepEqual([retried.status, retried.body.count], [200, 0]);
    const refused = await world.call(
      'auditor',
      'POST',
      `/messages/${encodeURIComponent(sent.get('untrusted') ?? '')}/fail`,
    );
    assert.equal(refused.status, 403);
  });

  it('counts a recipient whose message an operator ends, in the metrics and in the chart', async () => {
    const to = partners.processed;
    const onDestination = (action: string) =>
      world.call('operator', 'POST', '/queue/actions', {
        action,
        destinations: [to.slice(to.indexOf('@') + 1)],
        reason: 'maintenance',
        preview: false,
      });
    const cancelled = async (): Promise<number> => {
      const text = await (await fetch(`${world.sandbox.world.hisp.baseUrl}/metrics`)).text();
      const found = /^openhisp_recipient_states_total\{[^}]*reason="cancelled"[^}]*\} (\d+)$/m.exec(text);
      return Number(found?.[1] ?? 0);
    };
    const charted = async (): Promise<number> => {
      const { body } = await world.call<Now>('help-desk', 'GET', '/now');
      // The help desk may not open the domains.
      assert.equal(body.tiles.find(({ id }) => id === 'keys')?.link, '');
      return body.series.failed.reduce((sum, count) => sum + count, 0);
    };
    assert.equal((await onDestination('hold')).status, 200);
    const before = await charted();
    const { messageId } = (await world.client.post('/messaging/dirmsg/send_ccda', {
      fromDirectAddress: demoAddress,
      toDirectAddress: to,
      messageBody: canaries.text,
    })) as { messageId: string };
    const ended = await world.call<{ count: number }>(
      'operator',
      'POST',
      `/messages/${encodeURIComponent(messageId)}/fail`,
    );
    assert.deepEqual([ended.status, ended.body.count], [200, 1]);
    assert.equal((await onDestination('release')).status, 200);
    assert.equal(await cancelled(), 1);
    await waitFor(charted, (failed) => failed > before, 20);
  });

  it('names the parameter that is malformed', async () => {
    for (const [query, field] of [
      ['?limit=0', 'limit'],
      ['?limit=many', 'limit'],
      ['?state=lost', 'state'],
      ['?direction=up', 'direction'],
      ['?from=yesterday', 'from'],
      // ISO 8601 without the minutes of the zone.
      ['?from=2026-11-21T08:00:00%2B05', 'from'],
      ['?colour=red', 'colour'],
    ] as const) {
      const { status, body } = await world.call<{ errors: { field: string }[] }>(
        'help-desk',
        'GET',
        `/messages${query}`,
      );
      assert.equal(status, 400, query);
      assert.equal(body.errors[0]?.field, field, query);
    }
    assert.equal((await list('?cursor=1')).status, 400);
    assert.equal((await show('no such message')).status, 404);
  });

  it('puts a message and an address on legal hold, shows why, and releases them; the help desk may not', async () => {
    const messageId = sent.get('processed') ?? '';
    const add = (role: Role, body: object) => world.call<LegalHold>(role, 'POST', '/legal-holds', body);
    const ofMessage = { kind: 'message', name: messageId, reason: 'Case 12' };
    assert.equal((await add('help-desk', ofMessage)).status, 403);
    const first = await add('operator', ofMessage);
    const second = await add('operator', { kind: 'address', name: demoAddress, reason: 'Case 13' });
    assert.deepEqual([first.status, second.status], [201, 201]);
    assert.equal((await add('operator', ofMessage)).status, 409);
    const bad = await world.call<{ errors: { field: string }[] }>('operator', 'POST', '/legal-holds', {
      ...ofMessage,
      reason: 'two\nlines',
    });
    assert.deepEqual([bad.status, bad.body.errors[0]?.field], [400, 'reason']);
    const shown = (await show(messageId)).body.legalHolds;
    assert.deepEqual(shown, [first.body, second.body]);
    assert.deepEqual(
      shown.map(({ reason, author, subject }) => [reason, author, subject]),
      [
        ['Case 12', 'operator:script operator', (await show(messageId)).body.wireId],
        ['Case 13', 'operator:script operator', demoAddress],
      ],
    );
    const address = await world.call<AddressDetails>('auditor', 'GET', `/addresses/${demoAddress}`);
    assert.deepEqual(address.body.legalHolds, [second.body]);
    for (const { body } of [first, second]) {
      const release = (role: Role) =>
        world.call<LegalHold>(role, 'POST', `/legal-holds/${body.id}/release`, { reason: 'Settled' });
      assert.equal((await release('help-desk')).status, 403);
      assert.notEqual((await release('operator')).body.releasedAt, null);
      assert.equal((await release('operator')).status, 404);
    }
    assert.deepEqual((await show(messageId)).body.legalHolds, []);
  });

  it('shows no content', () => {
    for (const canary of Object.values(canaries))
      assert.ok(!world.answers.some((text) => text.includes(canary)), canary);
  });
});

test('a test message is refused while the disk is nearly full', async (t) => {
  const required = 1_000_000_000_000;
  const { bavail, bsize } = await statfs(tmpdir());
  if (bavail * bsize > required) return t.skip('the disk has more room than can be required');
  const full = await startTestConsole({ 'admission.minFreeDiskBytes': String(required) });
  t.after(() => full.close());
  const cookie = await full.signIn('Ann Lee');
  const { status, text } = await full.ask('POST', '/admin/v1/test-messages', {
    cookie,
    body: { fromDirectAddress: 'a@direct.a.example', toDirectAddress: 'b@direct.b.example' },
  });
  assert.equal(status, 503, text);
  assert.match(text, /The disk is nearly full/);
});
