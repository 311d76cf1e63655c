/** Every view of messages, audit and webhooks leaves an audit row per hour and query, whoever asks and however. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { demoAddress, partners } from '../../src/app/dev/index.ts';
import { openAdminWorld, type AdminWorld } from './admin-world.ts';

/** Counts and names of filters: nothing of a message, the audit trail or a webhook. */
const namesNothing: ReadonlySet<string> = new Set(['/message-filters', '/inbound/counts']);

describe('views in the console', () => {
  let world: AdminWorld;
  /** What each view of these areas is asked with, twice with different queries where it has any. */
  let targets: Readonly<Record<string, readonly string[]>>;

  before(async () => {
    world = await openAdminWorld();
    const { messageId } = (await world.client.post('/messaging/dirmsg/send_ccda', {
      fromDirectAddress: demoAddress,
      toDirectAddress: partners.untrusted,
      messageSubject: 'x',
      messageBody: 'x',
    })) as unknown as { messageId: string };
    const { body } = await world.call<{ result: { id: string }[] }>('operator', 'GET', '/webhooks');
    const { audit } = world.sandbox.world.hisp;
    const objects = { from: 'x@direct.other.example', to: demoAddress, reason: 'PKI_ISSUER_NOT_FOUND' };
    await audit.recordNow({ action: 'message.reject', outcome: 'refused', objects });
    const refused = `/inbound/${(await audit.find({ action: 'message.reject' }))[0]?.sequence}`;
    const message = `/messages/${encodeURIComponent(messageId)}`;
    targets = {
      '/messages': ['', '?state=failed', '?limit=1', '?from=2026-01-01T00:00:00Z', '?cursor=messages.1~a'],
      '/messages/{messageId}': [message],
      '/messages/{messageId}/ticket': [`${message}/ticket`],
      '/messages/{messageId}/evidence': [`${message}/evidence`],
      '/queue': ['', '?domain=direct.other.example', '?limit=1', '?cursor=queue.a'],
      '/queue/{destination}': ['/queue/direct.other.example'],
      '/inbound': ['refused', 'received', 'dead-lettered', 'unacknowledged'].flatMap((state) => [
        `?state=${state}`,
        `?state=${state}&since=2026-01-01T00:00:00Z`,
        `?state=${state}&limit=1`,
      ]),
      '/inbound/{id}': [refused],
      '/inbound/{id}/ticket': [`${refused}/ticket`],
      '/webhooks': ['', '?client=none'],
      '/webhooks/{id}': [`/webhooks/${body.result[0]?.id}`],
      '/audit': ['', '?actor=system', '?limit=1', '?cursor=audit.5'],
      '/audit/export': ['', '?action=none'],
    };
  });
  after(() => world?.close());

  /** The cookie of a new operator's session. */
  async function signIn(name: string, role: 'operator' | 'auditor'): Promise<string> {
    const { store, links } = world.sandbox.world.hisp.operators;
    const { id } = await store.create(name, role);
    const { token } = await links.create(id, name, 'sign-in');
    const answer = await fetch(`${world.consoleUrl}/admin/v1/sign-in/link`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: new URL(world.consoleUrl).origin },
      body: JSON.stringify({ token }),
    });
    assert.equal(answer.status, 200);
    return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  }

  async function countRows(actor: string): Promise<number> {
    return (await world.sandbox.world.hisp.audit.find({ actor, limit: 1000 })).length;
  }

  it('is asked for every route of these areas', async () => {
    const { body } = await world.call<{
      paths: Readonly<Record<string, Readonly<Record<string, { readonly tags?: readonly string[] }>>>>;
    }>('auditor', 'GET', '/openapi.json');
    const areas = new Set(['messages', 'queue', 'inbound', 'webhooks', 'audit']);
    const views = Object.entries(body.paths)
      .filter(([, { get }]) => get?.tags?.some((tag) => areas.has(tag)) === true)
      .map(([path]) => path.replace('/admin/v1', ''));
    assert.deepEqual(views.filter((path) => !namesNothing.has(path)).sort(), Object.keys(targets).sort());
  });

  it('a page that says it only refreshes leaves a row for each query, once per hour', async () => {
    const headers = { cookie: await signIn('refresher', 'auditor'), 'x-background': '1' };
    const problems: string[] = [];
    for (const [path, queries] of Object.entries(targets))
      for (const query of queries) {
        const target = query.startsWith('/') ? query : `${path}${query}`;
        const counts = [await countRows('operator:refresher')];
        for (let time = 0; time < 2; time++) {
          const answer = await fetch(`${world.consoleUrl}/admin/v1${target}`, { headers });
          await answer.arrayBuffer();
          assert.equal(answer.status, 200, target);
          counts.push(await countRows('operator:refresher'));
        }
        const [none = 0, first = 0, second = 0] = counts;
        // Ticket, evidence and export are no refreshes.
        const again = /ticket|evidence|export/.test(target) ? 1 : 0;
        if (first !== none + 1 || second !== first + again)
          problems.push(`${target}: ${first - none} and ${second - first} rows`);
      }
    assert.deepEqual(problems, []);
  });

  it('a bearer token has no page to refresh: each request leaves a row', async () => {
    const { operators } = world.sandbox.world.hisp;
    const operator = await operators.store.create('token', 'auditor');
    const { token } = await operators.tokens.create(operator, { label: 'test', lifetimeMs: 3_600_000 });
    const headers = { authorization: `Bearer ${token}`, 'x-background': '1' };
    for (const [path, [query = '']] of Object.entries(targets)) {
      const target = query.startsWith('/') ? query : `${path}${query}`;
      for (let time = 0; time < 2; time++) {
        const earlier = await countRows('operator:token');
        await (await fetch(`${world.consoleUrl}/admin/v1${target}`, { headers })).arrayBuffer();
        assert.equal(await countRows('operator:token'), earlier + 1, target);
      }
    }
  });

  it('a preview of what would be done with waiting mail is a view, and a stream of changes is one per hour', async () => {
    const headers = {
      cookie: await signIn('previewer', 'operator'),
      'x-background': '1',
      'content-type': 'application/json',
      origin: new URL(world.consoleUrl).origin,
    };
    const earlier = await countRows('operator:previewer');
    const selection = { action: 'retry', destinations: ['direct.stranger.example'], preview: true };
    const previewed = await fetch(`${world.consoleUrl}/admin/v1/queue/actions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(selection),
    });
    const { deliveries } = (await previewed.json()) as { deliveries: number };
    assert.equal(await countRows('operator:previewer'), earlier + (deliveries > 0 ? 1 : 0));
    for (let time = 0; time < 2; time++) {
      const ended = new AbortController();
      const stream = await fetch(`${world.consoleUrl}/admin/v1/live`, { headers, signal: ended.signal });
      assert.equal(stream.status, 200);
      ended.abort();
    }
    const rows = await world.sandbox.world.hisp.audit.find({ actor: 'operator:previewer', limit: 1000 });
    assert.equal(rows.filter(({ action }) => action === 'console.live').length, 1);
  });
});
