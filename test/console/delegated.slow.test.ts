/**
 * Delegated operators: every operation of the admin API, from its own document, is called by one of another organization.
 * Nothing of what stands in the HISP for others is in any answer, and what others own is answered as what there is not.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type {
  AddressDetails,
  AddressReport,
  AuditPage,
  ClientList,
  DomainList,
  EdgeAccountList,
  InboundCounts,
  InboundDetails,
  InboundPage,
  MessagePage,
  Now,
  OrganizationDetails,
  Session,
  Usage,
  WebhookList,
} from '../../src/app/console/contract/index.ts';
import { systemClock } from '../../src/core/index.ts';
import { createEdgeClient, demoAddress, domains, partners } from '../../src/app/dev/index.ts';
import type { MessagingTables } from '../../src/service/messaging/tables.ts';
import { countUsage } from '../../src/service/messaging/usage/count-usage.ts';
import { findHostedRecords } from '../../src/service/directory/index.ts';
import { createOrganizations } from '../../src/service/organizations/index.ts';
import type { Role } from '../../src/service/operators/index.ts';
import { waitFor } from '../system/sandbox-fixture.ts';
import { openAdminWorld, type AdminWorld, type ApiAnswer } from './admin-world.ts';

type InboundRow = Record<string, string | number | Uint8Array | null> & { readonly id: string };

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly permission: string;
  readonly scope: string | null;
}

interface Case {
  /** For `{…}` of the path: what the first organization owns. */
  readonly names?: readonly string[];
  readonly query?: string;
  readonly body?: unknown;
  /** Otherwise a scoped thing is not found, and all else is answered. */
  readonly status?: number;
}

const roles = ['administrator', 'help-desk', 'auditor'] as const;
type Delegated = (typeof roles)[number];

/** Written down apart from the program. */
const allowed: Readonly<Record<Delegated, readonly string[]>> = {
  administrator: ['messages.read', 'messages.change', 'settings.read', 'settings.change', 'audit.read'],
  'help-desk': ['messages.read', 'messages.change'],
  auditor: ['messages.read', 'settings.read', 'audit.read', 'audit.export'],
};

const clinic = 'second-clinic';
const clinicDomain = 'direct.second-clinic.example';
const clinicAddress = `desk@${clinicDomain}`;

describe('operators of one organization', () => {
  let world: AdminWorld;
  let operations: readonly Operation[];
  let cases: Readonly<Record<string, readonly Case[]>>;
  const tokens = new Map<Delegated, string>();
  /** What stands in the database for others, by what it is. */
  const marks = new Map<string, string>();
  let clinicClient: string;
  let clinicMessage: string;
  let movedClient: string;
  let hostname: string;

  async function call<Body>(
    role: Delegated,
    method: string,
    target: string,
    body?: unknown,
  ): Promise<ApiAnswer<Body>> {
    const response = await fetch(`${world.consoleUrl}/admin/v1${target}`, {
      method: method.toUpperCase(),
      headers: {
        authorization: `Bearer ${tokens.get(role)}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('application/json') === true;
    return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Body };
  }

  /** What the program calls itself in public is no secret of the domain that it is named after. */
  function requireSilence(what: string, text: string): void {
    const rest = text.replaceAll(hostname, '');
    for (const [name, word] of marks) {
      assert.ok(word.length > 4, `${name}: ${word}`);
      assert.ok(!rest.toLowerCase().includes(word.toLowerCase()), `${what} shows the ${name}: ${text}`);
    }
  }

  before(async () => {
    world = await openAdminWorld();
    const { hisp } = world.sandbox.world;
    const { body: session } = await world.call<Session>('operator', 'GET', '/session');
    ({ hostname } = session.hisp);
    const { body } = await world.call<{
      paths: Record<string, Record<string, { 'x-permission': string; 'x-scope': string | null }>>;
    }>('auditor', 'GET', '/openapi.json');
    operations = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => ({
        method,
        path: path.replace('/admin/v1', ''),
        permission: one['x-permission'],
        scope: one['x-scope'],
      })),
    );

    // What the first organization has: mail of both directions, a webhook, an edge account, clients.
    const send = async (to: string) =>
      (
        (await world.client.post('/messaging/dirmsg/send_ccda', {
          fromDirectAddress: demoAddress,
          toDirectAddress: to,
          messageSubject: 'x',
          messageBody: 'x',
        })) as { messageId: string }
      ).messageId;
    const sent = await send(partners.processed);
    const waiting = await send('nobody@direct.nowhere.example');
    await send(`echo@${domains.partner}`);
    const { clientId } = world.sandbox.credentials;
    const hook = (await world.client.post('/messaging/webhooks', {
      url: `${world.sandbox.world.side.baseUrl}/webhook`,
    })) as { webhook: { id: string } };
    const account = await hisp.edges.as('operator').create({
      clientId,
      username: `marked-account@${domains.own}`,
      addresses: [demoAddress],
      protocols: ['imap'],
    });
    const other = await hisp.oauth.clients.create({ name: 'Marked client', scopes: ['messaging.api'] });
    await send(partners.untrusted);
    await waitFor(
      () => world.call<MessagePage>('operator', 'GET', '/messages?state=failed'),
      ({ body: page }) => page.result.length > 0,
    );
    const received = await waitFor(
      () => world.call<MessagePage>('operator', 'GET', '/messages?direction=in'),
      ({ body: page }) => page.result.length > 0,
    );
    const copy = received.body.result[0];
    const { body: domain } = await world.call<{ keys: readonly { id: string }[] }>(
      'operator',
      'GET',
      `/domains/${domains.own}`,
    );

    // The second one.
    await createOrganizations({ ...hisp, clock: systemClock }).create({
      id: clinic,
      name: 'The second clinic',
    });
    await hisp.trust.addDomain(clinicDomain, clinic);
    await hisp.trust.putAddress(clinicAddress as typeof demoAddress);
    const own = await hisp.oauth.clients.create({
      name: 'Client of the clinic',
      organizationId: clinic,
      scopes: ['messaging.api'],
      directAddresses: [clinicAddress],
    });
    clinicClient = own.clientId;
    for (const role of roles) {
      const operator = await hisp.operators.store.create(`clinic ${role}`, role, clinic);
      const issued = await hisp.operators.tokens.create(operator, { label: 'test', lifetimeMs: 3_600_000 });
      tokens.set(role, issued.token);
    }
    const { baseUrl } = world.sandbox.credentials;
    const clinicEdge = createEdgeClient({ ...own, baseUrl }, 'messaging.api');
    const answer = (await clinicEdge.post('/messaging/dirmsg/send_ccda', {
      fromDirectAddress: clinicAddress,
      toDirectAddress: partners.processed,
      messageSubject: 'x',
      messageBody: 'x',
    })) as { messageId: string };
    clinicMessage = answer.messageId;

    // Refused mail and dead letters: of the first organization alone, and of both.
    const markedPeer = 'stranger@direct.marked-peer.example';
    for (const [from, to] of [
      [markedPeer, demoAddress],
      ['both@direct.peer.example', `${demoAddress} ${clinicAddress}`],
    ] as const) {
      await hisp.audit.recordNow({
        action: 'message.reject',
        actor: 'peer',
        outcome: 'refused',
        objects: { from, to, reason: 'INBOUND_MAIL_UNSIGNED' },
      });
      await hisp.storage
        .tables<{ inbound_mail: InboundRow }>()
        .insertInto('inbound_mail')
        .values({
          id: from.slice(0, from.indexOf('@')),
          mail_from: from,
          recipients: JSON.stringify(to.split(' ')),
          sealed_mail: Buffer.alloc(1),
          content_hash: from,
          network: '192.0.2.0/24',
          remote_address: '192.0.2.7',
          sender_domain: '',
          party: from,
          needs_fetch: 0,
          state: 'dead-letter',
          attempts: 9,
          next_attempt_at: 0,
          last_error: 'INTERNAL',
          received_at: Date.now(),
          lease_until: 0,
          lease_token: null,
        })
        .execute();
    }
    const refused = await world.call<InboundPage>(
      'operator',
      'GET',
      '/inbound?state=refused&from=marked-peer',
    );
    const refusedId = refused.body.result[0]?.id ?? '';

    // What Now tells of: a failing webhook, a bundle, a limit that is reached; what was counted, and a hold.
    await hisp.storage
      .tables<{ webhook: { id: string; failing_since: number } }>()
      .updateTable('webhook')
      .set({ failing_since: Date.now() })
      .where('id', '=', hook.webhook.id)
      .execute();
    await hisp.trust.addBundle({
      domain: domains.own,
      url: 'https://bundles.marked-peer.example/a.p7b',
      direction: 'both',
      refreshSeconds: 86_400,
    });
    const organizations = createOrganizations({ ...hisp, clock: systemClock });
    await organizations.update('operator', { limits: { addresses: 1 } });
    await countUsage({ storage: hisp.storage, clock: systemClock }, 1e12);
    const held = { kind: 'address', name: clinicAddress, reason: 'Case 12' };
    const hold = await world.call('operator', 'POST', '/legal-holds', held);
    assert.equal(hold.status, 201, hold.text);
    const { status } = await world.call('operator', 'POST', '/legal-holds', {
      ...held,
      kind: 'message',
      name: clinicMessage,
    });
    assert.equal(status, 201);
    const moved = await hisp.oauth.clients.create({ name: 'Moved client', scopes: ['messaging.api'] });
    movedClient = moved.clientId;
    await hisp.storage
      .tables<MessagingTables>()
      .insertInto('usage_day')
      .values({
        // Yesterday: today is counted anew.
        day: new Date(Date.now() - 86_400_000).toISOString().slice(0, 10),
        client_id: movedClient,
        organization_id: clinic,
        domain: clinicDomain,
        messages: 7,
        recipients: 7,
        octets: 7,
        delivered: 7,
        failed: 0,
      })
      .execute();

    for (const [name, word] of Object.entries({
      'name of its organization': 'The operator of this HISP',
      'sender of refused mail': 'marked-peer',
      domain: domains.own,
      address: demoAddress,
      client: clientId,
      'other client': 'Marked client',
      'client that was moved': 'Moved client',
      'id of the other client': other.clientId,
      message: sent.replace('urn:uuid:', ''),
      'waiting message': waiting.replace('urn:uuid:', ''),
      'received message': copy?.messageId.replace('urn:uuid:', '') ?? '',
      'wire id': copy?.wireId ?? '',
      webhook: hook.webhook.id,
      account: account.accountId,
      'user of the account': 'marked-account',
      key: domain.keys[0]?.id ?? '',
      operator: 'script operator',
    }))
      marks.set(name, word);
    const message = { names: [encodeURIComponent(sent)], status: 404 };
    const hooks = { names: [hook.webhook.id] };
    const accounts = { names: [account.accountId] };
    cases = {
      'get /session': [{}],
      'get /sessions': [{}],
      'delete /session': [{ status: 204 }],
      'delete /sessions': [{}],
      'delete /sessions/{sessionId}': [{ names: ['nothing'], status: 404 }],
      'get /passkeys': [{}],
      'post /passkeys/options': [{ body: {}, status: 403 }],
      'post /passkeys': [{ body: { name: 'x', response: {} }, status: 403 }],
      'patch /passkeys/{passkeyId}': [{ names: ['nothing'], body: { name: 'x' }, status: 404 }],
      'delete /passkeys/{passkeyId}': [{ names: ['nothing'], status: 403 }],
      // Its events have a test of their own below.
      'get /live': [],
      'get /domains': [{}],
      'get /domains/{domain}': [{ names: [domains.own] }, { names: [domains.own.toUpperCase()] }],
      'get /domains/{domain}/records': [{ names: [domains.own] }],
      'get /domains/{domain}/findings': [{ names: [domains.own] }],
      'get /domains/{domain}/addresses': [{ names: [domains.own] }],
      'get /addresses/{address}': [{ names: [demoAddress] }, { names: [demoAddress.toUpperCase()] }],
      'put /addresses/{address}': [{ names: [`new@${domains.own}`], body: { isListed: false } }],
      'put /addresses/{address}/forwarding': [{ names: [demoAddress], body: { deliverTo: [clinicAddress] } }],
      'post /addresses/{address}/disable': [{ names: [demoAddress] }],
      'post /addresses/{address}/enable': [{ names: [demoAddress] }],
      'get /clients': [{}],
      'get /clients/{id}': [{ names: [clientId] }, { names: [other.clientId] }],
      'post /clients/{id}/secrets': [{ names: [clientId] }],
      'delete /clients/{id}/secrets/{secretId}': [{ names: [clientId, 'nothing'] }],
      'post /clients/{id}/disable': [{ names: [clientId] }],
      'get /edge-accounts': [{}],
      'post /edge-accounts': [
        {
          body: { clientId, username: 'x@y.example', addresses: ['x@y.example'], protocols: ['imap'] },
          status: 404,
        },
      ],
      'get /edge-accounts/{id}': [accounts, { names: [`marked-account@${domains.own}`] }],
      'patch /edge-accounts/{id}': [{ ...accounts, body: {} }],
      'post /edge-accounts/{id}/passwords': [accounts],
      'delete /edge-accounts/{id}/passwords/{passwordId}': [{ names: [account.accountId, 'nothing'] }],
      'post /edge-accounts/{id}/disable': [accounts],
      'post /webhooks': [
        { body: { clientId, url: 'https://hooks.example/in', kind: 'status' }, status: 404 },
      ],
      // Rows of others have a test of their own below.
      'post /addresses/import': [
        { body: { csv: `address\nnew@${clinicDomain}`, preview: true, isRowByRow: true } },
      ],
      'get /webhooks': [{}, { query: `?client=${clientId}` }],
      'get /webhooks/{id}': [hooks],
      'post /webhooks/{id}/replay': [{ ...hooks, body: {} }],
      'post /webhooks/{id}/disable': [hooks],
      'post /webhooks/{id}/enable': [hooks],
      'post /webhooks/{id}/test': [hooks],
      'get /now': [{}],
      'get /inbound': ['received', 'refused', 'dead-lettered', 'unacknowledged'].map((state) => ({
        query: `?state=${state}&limit=200`,
      })),
      'get /inbound/counts': [{}],
      'get /inbound/{id}': [refusedId, 'stranger'].map((id) => ({ names: [id], status: 404 })),
      'get /inbound/{id}/ticket': [refusedId, 'stranger'].map((id) => ({ names: [id], status: 404 })),
      'post /inbound/{id}/retry': [{ names: ['stranger'], status: 404 }],
      'get /organizations': [{}],
      'get /organizations/{id}': [{ names: ['operator'] }],
      'get /audit': [
        { query: '?limit=200' },
        { query: `?limit=200&actor=${encodeURIComponent('operator:script operator')}` },
        { query: `?limit=200&address=${encodeURIComponent(demoAddress)}` },
        { query: `?limit=200&message=${encodeURIComponent(sent)}` },
        { query: `?limit=200&actor=${clientId}` },
        ...['changes', 'access', 'delivery'].map((group) => ({ query: `?limit=200&group=${group}` })),
      ],
      'get /audit/export': [{}, { query: '?format=csv' }],
      'get /usage': [{}, { query: '?by=all' }, { query: '?organization=operator&by=client' }],
      'get /messages': [
        { query: '?limit=200' },
        { query: '?direction=in&limit=200' },
        { query: `?q=${encodeURIComponent(demoAddress)}` },
        { query: `?q=${encodeURIComponent(sent)}` },
        { query: `?q=${encodeURIComponent(copy?.wireId ?? '')}` },
        { query: `?client=${clientId}` },
        ...['queued', 'processed', 'failed', 'received'].map((state) => ({ query: `?state=${state}` })),
      ],
      'get /message-filters': [{}],
      'get /messages/{messageId}': [
        message,
        { names: [encodeURIComponent(copy?.messageId ?? '')], status: 404 },
        { names: [encodeURIComponent(copy?.wireId ?? '')], status: 404 },
      ],
      'get /messages/{messageId}/ticket': [message],
      'get /messages/{messageId}/evidence': [message],
      'post /messages/{messageId}/retry': [message, { names: [encodeURIComponent(waiting)], status: 404 }],
      'post /messages/{messageId}/fail': [message, { names: [encodeURIComponent(waiting)], status: 404 }],
    };
  });
  after(() => world?.close());

  it('has a case for every operation that is open to them', () => {
    const open = operations.filter(({ scope }) => scope !== null);
    assert.deepEqual(
      open.map(({ method, path }) => `${method} ${path}`).toSorted(),
      Object.keys(cases).toSorted(),
    );
  });

  for (const role of roles)
    it(`shows nothing of another organization to its ${role}`, async () => {
      for (const { method, path, permission, scope } of operations) {
        const what = `${role}: ${method} ${path}`;
        if (permission === 'public') continue;
        const isAllowed =
          scope !== null && (permission === 'signed-in' || allowed[role].includes(permission));
        if (!isAllowed) {
          const { status } = await call(role, method, path.replaceAll(/\{[^}]+\}/g, 'x'));
          assert.equal(status, 403, what);
          continue;
        }
        for (const { names = [], query = '', body, status } of cases[`${method} ${path}`] ?? []) {
          const fill = (values: readonly string[]): string => {
            let at = 0;
            return path.replaceAll(/\{[^}]+\}/g, () => values[at++] ?? '') + query;
          };
          const answer = await call<{ requestId?: string }>(role, method, fill(names), body);
          const isThing: boolean = scope !== 'caller' && scope !== 'filtered';
          assert.equal(answer.status, status ?? (isThing ? 404 : 200), `${what}: ${answer.text}`);
          // The words of a search are the caller's own.
          requireSilence(what, answer.text.replace(/"terms":.*$/, ''));
          if (answer.status !== 404) continue;
          const unknown = await call<{ requestId?: string }>(
            role,
            method,
            fill(names.map((name) => (name.includes('@') ? 'no-such@no.example' : 'no-such'))),
            body,
          );
          const plain = ({ body: { requestId: _id, ...rest } }: ApiAnswer<{ requestId?: string }>) =>
            JSON.stringify(rest);
          assert.deepEqual([unknown.status, plain(unknown)], [404, plain(answer)], what);
        }
      }
    });

  it('shows them what their organization owns', async () => {
    const read = async <Body>(target: string) => (await call<Body>('administrator', 'get', target)).body;
    const session = await read<Session>('/session');
    assert.deepEqual(session.operator.organization, { id: clinic, name: 'The second clinic' });
    assert.deepEqual(session.hisp.domains, [clinicDomain]);
    assert.deepEqual(
      (await read<DomainList>('/domains')).result.map(({ domain }) => domain),
      [clinicDomain],
    );
    assert.deepEqual(
      (await read<ClientList>('/clients')).result.map(({ clientId }) => clientId),
      [clinicClient],
    );
    const messages = await read<MessagePage>('/messages');
    assert.deepEqual(
      messages.result.map(({ messageId }) => messageId),
      [clinicMessage],
    );
    assert.equal((await read<{ messageId: string }>(`/messages/${clinicMessage}`)).messageId, clinicMessage);
    for (const state of ['refused', 'dead-lettered'])
      assert.deepEqual(
        (await read<InboundPage>(`/inbound?state=${state}`)).result.map(({ from, to }) => [from, to]),
        [['both@direct.peer.example', [clinicAddress]]],
      );
    assert.deepEqual((await read<InboundDetails>('/inbound/both')).row.to, [clinicAddress]);
    const { refused, received } = await read<InboundCounts>('/inbound/counts');
    assert.deepEqual([refused, received], [1, 0]);
    const { organization, operators } = await read<OrganizationDetails>(`/organizations/${clinic}`);
    assert.deepEqual([organization.domains, organization.clients, operators.length], [1, 1, 3]);
    // The first organization has mail that nobody acknowledged, and messages that failed.
    const failed = (await read<MessagePage>('/messages?state=failed')).result.length;
    const now = await read<Now>('/now');
    assert.deepEqual(
      now.tiles.map(({ id, value }) => [id, value]),
      [
        ['failures', failed],
        ['unacknowledged', 0],
        ['webhooks', 0],
        // Its domain has none.
        ['keys', 1],
        ['bundles', 0],
      ],
    );
    assert.deepEqual([now.tiles.at(-1)?.level, now.series.times], ['none', []]);
    const { body: all } = await world.call<Now>('operator', 'GET', '/now');
    const valueOf = (id: string): number => all.tiles.find((tile) => tile.id === id)?.value ?? 0;
    assert.ok(valueOf('failures') > failed && valueOf('unacknowledged') > 0);
    const counts = await read<InboundCounts>('/inbound/counts');
    // The dead letter that was for both; of the other one nothing.
    assert.deepEqual([counts.unacknowledged, counts.deadLettered, counts.waiting], [0, 1, 0]);
    // The HISP holds both, which is not theirs to know.
    for (const target of [`/addresses/${clinicAddress}`, `/messages/${clinicMessage}`])
      assert.deepEqual((await read<AddressDetails>(target)).legalHolds, [], target);
    // Of a client that went to another organization they have what was counted for theirs, without its name.
    const usage = await read<Usage>('/usage?by=client');
    assert.deepEqual(
      new Map(
        usage.result.map(({ clientId, clientName, messages: sent }) => [clientId, `${clientName} ${sent}`]),
      ),
      new Map([
        [clinicClient, 'Client of the clinic 1'],
        [movedClient, ' 7'],
      ]),
    );
    assert.deepEqual((await read<EdgeAccountList>('/edge-accounts')).result, []);
    assert.deepEqual((await read<WebhookList>('/webhooks')).result, []);
    assert.ok(
      (await read<Usage>('/usage?by=organization')).result.every(
        ({ organization }) => organization === clinic,
      ),
    );
    const put = await call('administrator', 'put', `/addresses/second@${clinicDomain}`, { isListed: false });
    assert.equal(put.status, 200, put.text);
    const { hisp } = world.sandbox.world;
    const organizations = createOrganizations({ ...hisp, clock: systemClock });
    await organizations.update(clinic, { limits: { addresses: 2 } });
    const third = `third@${clinicDomain}`;
    const full = await call('administrator', 'put', `/addresses/${third}`, {
      isListed: true,
      entry: { firstName: 'Ann', lastName: 'Third' },
    });
    assert.equal(full.status, 409, full.text);
    assert.equal((await findHostedRecords(hisp.storage, [third])).size, 0, 'what is refused is not listed');
    // What is another organization's is refused like what nobody has; nothing of it is changed.
    const csv = `address,last name\nfourth@${clinicDomain},Four\nnew@${domains.own},New\nnew@nobody.example,New`;
    const imported = await call<AddressReport>('administrator', 'post', '/addresses/import', {
      csv,
      preview: true,
      isRowByRow: true,
    });
    assert.deepEqual(
      imported.body.rows.slice(-2).map(({ outcome, text }) => [outcome, text]),
      [domains.own, 'nobody.example'].map((name) => ['refused', `address: ${name} is not a hosted domain.`]),
    );
    const hook = {
      clientId: clinicClient,
      url: `${world.sandbox.world.side.baseUrl}/webhook`,
      kind: 'status',
    };
    const registered = await call('administrator', 'post', '/webhooks', hook);
    assert.equal(registered.status, 201, registered.text);
    const page = await read<InboundPage>('/inbound?state=refused&limit=1');
    const next = encodeURIComponent(String(page.next));
    assert.equal(page.result.length, 1);
    // The next row is one that they may not see: neither its time nor its number shows.
    assert.doesNotMatch(next, /refused|~|%7E|\d{10}/i);
    const rest = await read<InboundPage>(`/inbound?state=refused&limit=1&cursor=${next}`);
    assert.deepEqual(rest.result, []);
    const strange = await world.call('operator', 'GET', `/inbound?state=refused&cursor=${next}`);
    assert.equal(strange.status, 400);
    const account = { clientId: clinicClient, addresses: [clinicAddress], protocols: ['imap'] };
    for (const [username, status] of [
      // One that another organization has, and one that it may want.
      [`marked-account@${domains.own}`, 400],
      [`dr@${domains.own}`, 400],
      ['a name', 400],
      [clinicAddress, 201],
    ] as const) {
      const made = await call('administrator', 'post', '/edge-accounts', { ...account, username });
      assert.equal(made.status, status, made.text);
    }
  });

  it('shows their auditor the rows of the audit trail that concern it, and who acted if it was one of them', async () => {
    const read = async (query: string) => (await call<AuditPage>('auditor', 'get', `/audit${query}`)).body;
    await world.call('operator', 'POST', `/addresses/${clinicAddress}/disable`);
    await world.call('operator', 'POST', `/addresses/${clinicAddress}/enable`);
    const { result } = await read('?limit=200');
    const rowsOf = (action: string) => result.filter((row) => row.action === action);
    assert.deepEqual(
      rowsOf('message.accept').map(({ actor }) => actor),
      [clinicClient],
    );
    // Both were named by the envelope.
    assert.deepEqual(
      rowsOf('message.reject').map(({ objects }) => objects['to']),
      [clinicAddress],
    );
    assert.deepEqual(
      rowsOf('address.disable').map(({ actor, objects, remoteAddress }) => [actor, objects, remoteAddress]),
      [['operator', { address: clinicAddress }, '']],
    );
    assert.ok(rowsOf('domain.add').length === 1 && rowsOf('client.create').length === 1);
    assert.ok(rowsOf('edge.create').every(({ actor }) => actor === 'operator:clinic administrator'));
    // What is searched is what is seen.
    const asked = await read(`?actor=${encodeURIComponent('operator:script operator')}`);
    assert.deepEqual(asked.result, []);
    const exported = await call('auditor', 'get', '/audit/export');
    assert.ok(exported.text.includes(clinicAddress));
    requireSilence('the export', exported.text);
    assert.equal((await call('auditor', 'post', '/audit/verify')).status, 403);
  });

  it('are told when to look again by the clock alone', async () => {
    const controller = new AbortController();
    const response = await fetch(`${world.consoleUrl}/admin/v1/live`, {
      headers: { authorization: `Bearer ${tokens.get('administrator')}` },
      signal: controller.signal,
    });
    // Something of the first organization changes.
    await world.call('operator', 'POST', `/clients/${world.sandbox.credentials.clientId}/secrets`);
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes('event: changed')) break;
    }
    controller.abort();
    assert.match(text, /event: beat[^]*event: changed/);
  });

  it('have no access once their organization is closed, and roles only of their place', async () => {
    const { hisp } = world.sandbox.world;
    const { store } = hisp.operators;
    const refused: readonly (readonly [Role, string | undefined])[] = [
      ['operator', clinic],
      ['administrator', undefined],
    ];
    for (const [role, organization] of refused)
      await assert.rejects(store.create('somebody', role, organization), { code: 'OPERATORS_ROLE_INVALID' });
    await assert.rejects(store.setRole('clinic auditor', 'operator'), { code: 'OPERATORS_ROLE_INVALID' });
    await assert.rejects(store.create('somebody', 'auditor', 'nowhere'), { code: 'ORGANIZATION_UNKNOWN' });
    const organizations = createOrganizations({ ...hisp, clock: systemClock });
    await hisp.storage.transaction((tx) => organizations.closeIn(tx, clinic, 'contract ended'));
    for (const role of roles) assert.equal((await call(role, 'get', '/session')).status, 401, role);
  });
});
