/** Every read followed by a write in the services, on two nodes at the same moment. Directory and keys: constraints.sql.test.ts; messages: src/service/messaging. */
// needsOwnProcess: the nodes of races end with the first file.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { createContentStore, createLeases, joinNodes } from '../../src/platform/index.ts';
import { createQueue, type DeliveryQueue } from '../../src/service/delivery/queue.ts';
import type { DeliveryTables } from '../../src/service/delivery/index.ts';
import { createQuotaLedger, readUsedToday } from '../../src/service/directory/guard/quota-ledger.ts';
import { scheduleSource } from '../../src/service/directory/jobs/schedule.ts';
import { createOauth } from '../../src/service/oauth/index.ts';
import { createOperators, type SignInSource } from '../../src/service/operators/index.ts';
import { createCeremonies } from '../../src/service/operators/ceremonies.ts';
import { createTrust } from '../../src/service/trust/index.ts';
import { createDomainWork } from '../../src/service/verification/domain-work.ts';
import { createWebhooks } from '../../src/service/webhook/index.ts';
import { createClaim } from '../../src/service/webhook/claim-notifications.ts';
import { isPostgres } from '../support/storage.ts';
import { collide, raceTest, refusals, succeeded, type RaceNode } from './race.ts';

const clock = systemClock;
const log = silentLog;
const source: SignInSource = { remoteAddress: '192.0.2.1', userAgent: 'test' };
const noLimits = { attemptsPerMinute: 1e9, tokensPerSecond: 1e9, tokensBurst: 1e9 };
const createServices = (node: RaceNode) => ({
  oauth: createOauth({ ...node, clock, limits: noLimits }),
  operators: createOperators({ ...node, clock, attemptsPerMinute: 1e9 }),
  trust: createTrust({ ...node, clock }),
  webhooks: createWebhooks({ ...node, clock, log, post: async () => ({ status: 200 }) }),
});
type AnyTables = Record<string, Record<string, unknown>>;

const tokenRequest = (clientId: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
  contentType: 'application/x-www-form-urlencoded',
  body: Buffer.from('grant_type=client_credentials'),
  query: '',
  remoteAddress: '192.0.2.1',
  requestId: 'request',
});

raceTest({
  title: 'a token issued while its secret is revoked ends with it',
  async prepare(nodes) {
    const [one, two] = nodes.map(createServices) as [Services, Services];
    const { clientId } = await one.oauth.clients.create({ name: 'c', scopes: ['messaging.api'] });
    return async () => {
      const { clientSecret, secretId } = await one.oauth.clients.rotateSecret(clientId);
      const request = tokenRequest(clientId, clientSecret);
      // Verified before, so that only the issuing is left.
      await two.oauth.issueToken(request);
      const [revoked, issued] = await collide(
        () => one.oauth.clients.revokeSecret(clientId, secretId),
        () => two.oauth.issueToken(request),
      );
      assert.equal(revoked.status, 'fulfilled');
      assert.ok(refusals([issued]).every((code) => code === 'OAUTH_CLIENT_INVALID'));
      const left = await nodes[0].storage
        .tables<AnyTables>()
        .selectFrom('oauth_token')
        .select('client_id')
        .where('secret_id', '=', secretId)
        .execute();
      assert.deepEqual(left, []);
    };
  },
});

type Services = ReturnType<typeof createServices>;

raceTest({
  title: 'a token issued while its client is disabled does not come back when it is enabled',
  async prepare(nodes) {
    const [one, two] = nodes.map(createServices) as [Services, Services];
    const created = await one.oauth.clients.create({ name: 'c', scopes: ['messaging.api'] });
    const request = tokenRequest(created.clientId, created.clientSecret);
    await two.oauth.issueToken(request);
    return async () => {
      const [disabled, issued] = await collide(
        () => one.oauth.clients.disable(created.clientId),
        () => two.oauth.issueToken(request),
      );
      assert.equal(disabled.status, 'fulfilled');
      assert.ok(refusals([issued]).every((code) => code === 'OAUTH_CLIENT_UNAUTHORIZED'));
      const left = await nodes[0].storage
        .tables<AnyTables>()
        .selectFrom('oauth_token')
        .select('client_id')
        .where('client_id', '=', created.clientId)
        .execute();
      assert.deepEqual(left, []);
      await one.oauth.clients.enable(created.clientId);
    };
  },
});

raceTest({
  title: 'of two clients with one id one is created; of two changes of one client both are kept',
  async prepare(nodes) {
    const [one, two] = nodes.map(createServices) as [Services, Services];
    return async (round) => {
      const client = {
        clientId: `client-${round}`,
        clientSecret: 'x'.repeat(20),
        name: 'c',
        scopes: ['messaging.api'],
      };
      const results = await collide(
        () => one.oauth.clients.create(client),
        () => two.oauth.clients.create(client),
      );
      assert.deepEqual(refusals(results), ['OAUTH_CLIENT_EXISTS']);
      await collide(
        () => one.oauth.clients.update(client.clientId, { name: 'changed' }),
        () => two.oauth.clients.update(client.clientId, { directAddresses: ['a@direct.example'] }),
      );
      const [, found] = await Promise.all([one, two].map(({ oauth }) => oauth.clients.list()));
      const { name, directAddresses } = found?.find(({ clientId }) => clientId === client.clientId) ?? {};
      assert.deepEqual({ name, directAddresses }, { name: 'changed', directAddresses: ['a@direct.example'] });
    };
  },
});

raceTest({
  title: 'an operator who is disabled while the role changes is disabled, and has the new role',
  async prepare(nodes) {
    const [one, two] = nodes.map(createServices) as [Services, Services];
    await one.operators.store.create('Grace', 'auditor');
    return async () => {
      const results = await collide(
        () => one.operators.store.disable('Grace'),
        () => two.operators.store.setRole('Grace', 'operator'),
      );
      assert.deepEqual(refusals(results), []);
      const ada = await one.operators.store.get('Grace');
      assert.ok(ada.disabledAt !== undefined, 'the operator is active again');
      assert.equal(ada.role, 'operator');
      await one.operators.store.setRole('Grace', 'auditor');
      await one.operators.store.enable('Grace');
    };
  },
});

raceTest({
  title: 'of two operators with one name one is created, and the other is refused with the reason',
  async prepare(nodes) {
    const [one, two] = nodes.map(createServices) as [Services, Services];
    return async (round) => {
      const results = await collide(
        () => one.operators.store.create(`Ada ${round}`, 'auditor'),
        () => two.operators.store.create(`ada ${round}`, 'auditor'),
      );
      assert.deepEqual(refusals(results), ['OPERATORS_NAME_TAKEN']);
    };
  },
});

raceTest({
  title: 'of two links of one purpose one is left, and it signs in once',
  async prepare(nodes) {
    const [one, two] = nodes.map(createServices) as [Services, Services];
    const { id, name } = await one.operators.store.create('Ada', 'operator');
    return async () => {
      const links = await collide(
        () => one.operators.links.create(id, name, 'sign-in'),
        () => two.operators.links.create(id, name, 'sign-in'),
      );
      assert.deepEqual(refusals(links), []);
      const uses = await Promise.allSettled(
        succeeded(links).flatMap(({ token }) =>
          [one, two].map(({ operators }) => operators.signIn.byLink(token, source)),
        ),
      );
      assert.equal(succeeded(uses).length, 1);
      assert.deepEqual(new Set(refusals(uses)), new Set(['OPERATORS_LINK_INVALID']));
      await one.operators.sessions.endAll({ id, name, actor: `operator:${name}` });
    };
  },
});

raceTest({
  title: 'an operator has 50 sessions at most, and none that began while the operator was disabled',
  async prepare(nodes) {
    const [one, two] = nodes.map(createServices) as [Services, Services];
    const { id } = await one.operators.store.create('Edsger', 'operator');
    const [first, second] = [one, two].map(({ operators }) => operators.signIn.openStandingLink(id)) as [
      string,
      string,
    ];
    const local = { ...source, remoteAddress: '127.0.0.1' };
    const enterOne = () => one.operators.signIn.byLink(first, local);
    const enterTwo = () => two.operators.signIn.byLink(second, local);
    for (let count = 0; count < 50; count++) await enterOne();
    const countSessions = async () =>
      (
        await nodes[0].storage
          .tables<AnyTables>()
          .selectFrom('console_session')
          .select('id')
          .where('operator_id', '=', id)
          .execute()
      ).length;
    return async (round) => {
      if (round % 4 > 0) {
        assert.deepEqual(refusals(await collide(enterOne, enterTwo)), []);
        assert.ok((await countSessions()) <= 50, `${await countSessions()} sessions`);
        return;
      }
      const [disabled, entered] = await collide(() => one.operators.store.disable('Edsger'), enterTwo);
      assert.equal(disabled.status, 'fulfilled');
      assert.ok(refusals([entered]).every((code) => code === 'OPERATORS_SESSION_INVALID'));
      assert.equal(await countSessions(), 0);
      await one.operators.store.enable('Edsger');
    };
  },
});

raceTest({
  title: 'a ceremony is used once',
  async prepare([one, two]) {
    const [a, b] = [one, two].map(({ storage }) => createCeremonies({ storage, clock })) as [
      Ceremonies,
      Ceremonies,
    ];
    return async () => {
      const { token } = await a.begin('passkey');
      const results = await collide(
        () => a.take('passkey', token),
        () => b.take('passkey', token),
      );
      assert.deepEqual(refusals(results), ['OPERATORS_CEREMONY_INVALID']);
    };
  },
});

type Ceremonies = ReturnType<typeof createCeremonies>;

raceTest({
  title: 'a domain has 10 keys that wait for a certificate at most',
  usual: 8,
  async prepare(nodes) {
    const [one, two] = nodes.map(createServices) as [Services, Services];
    await one.trust.addDomain('direct.example');
    for (let count = 0; count < 9; count++) await one.trust.requestKey('direct.example');
    return async () => {
      const results = await collide(
        () => one.trust.requestKey('direct.example'),
        () => two.trust.requestKey('direct.example'),
      );
      assert.deepEqual(refusals(results), ['TRUST_KEY_REQUESTS_FULL']);
      const [made] = succeeded(results);
      const discards = await collide(
        () => one.trust.discardKeyRequest(made?.id ?? ''),
        () => two.trust.discardKeyRequest(made?.id ?? ''),
      );
      assert.deepEqual(refusals(discards), ['TRUST_KEY_REQUEST_UNKNOWN']);
    };
  },
});

raceTest({
  title: 'a domain and an address added by two nodes are there once',
  async prepare(nodes) {
    const [one, two] = nodes.map(createServices) as [Services, Services];
    return async (round) => {
      const domain = `d${round}.example`;
      const address = parseDirectAddress(`a@${domain}`);
      assert.deepEqual(
        refusals(
          await collide(
            () => one.trust.addDomain(domain),
            () => two.trust.addDomain(domain),
          ),
        ),
        [],
      );
      const results = await collide(
        () => one.trust.putAddress(address),
        () => two.trust.putAddress(address, 'disabled'),
      );
      assert.deepEqual(refusals(results), []);
      assert.equal((await one.trust.listAddresses(domain)).length, 1);
      const seen = (await one.trust.listDomains()).filter((name) => name === domain);
      assert.deepEqual(seen, [domain]);
    };
  },
});

const hookBody = { url: 'https://edge.example.com/hook', eventTypes: ['message.processed'] };

raceTest({
  title: 'a client has 20 webhooks at most, and of two changes of one both are kept',
  async prepare(nodes) {
    const [one, two] = nodes.map(createServices) as [Services, Services];
    const { clientId } = await one.oauth.clients.create({ name: 'c', scopes: ['messaging.api'] });
    for (let count = 0; count < 19; count++) await one.webhooks.create(clientId, hookBody);
    return async (round) => {
      const created = await collide(
        () => one.webhooks.create(clientId, hookBody),
        () => two.webhooks.create(clientId, hookBody),
      );
      assert.deepEqual(refusals(created), ['WEBHOOK_LIMIT_REACHED']);
      const { id } = succeeded(created)[0]?.webhook ?? { id: '' };
      await collide(
        () => one.webhooks.update(clientId, id, { description: `round ${round}` }),
        () => two.webhooks.update(clientId, id, { enabled: false }),
      );
      const { description, isEnabled } = await two.webhooks.hooks.get(clientId, id);
      assert.deepEqual({ description, isEnabled }, { description: `round ${round}`, isEnabled: false });
      const removed = await collide(
        () => one.webhooks.hooks.remove(clientId, id),
        () => two.webhooks.hooks.remove(clientId, id),
      );
      assert.deepEqual(refusals(removed), ['WEBHOOK_NOT_FOUND']);
    };
  },
});

raceTest({
  title: 'a notification is claimed by one node',
  async prepare(nodes) {
    const { storage } = nodes[0];
    const services = createServices(nodes[0]);
    const { clientId } = await services.oauth.clients.create({ name: 'c', scopes: ['messaging.api'] });
    await services.webhooks.create(clientId, hookBody);
    const [a, b] = nodes.map((node) => {
      const leases = createLeases({ storage: node.storage, table: 'webhook_notification', leaseMs: 60_000 });
      return createClaim({ storage: node.storage, leases }, 'status');
    }) as [ReturnType<typeof createClaim>, ReturnType<typeof createClaim>];
    return async () => {
      for (let count = 0; count < 4; count++)
        await storage.transaction((tx: Kysely<unknown>) =>
          services.webhooks.notifyIn(tx, {
            clientId,
            eventType: 'message.processed',
            at: clock.now(),
            messageId: `urn:uuid:${randomUUID()}`,
            fromDirectAddress: 'a@direct.example',
            toDirectAddress: 'b@direct.example',
            status: 'processed',
            statusCode: '2.0.0',
            statusText: '',
          }),
        );
      const results = await collide(
        () => a(3, [], []),
        () => b(3, [], []),
      );
      assert.deepEqual(refusals(results), []);
      const ids = succeeded(results).flatMap((items) => items.map(({ id }) => id));
      assert.equal(new Set(ids).size, ids.length);
      await storage.tables<AnyTables>().deleteFrom('webhook_notification').execute();
    };
  },
});

function openQueue({ storage, vault }: RaceNode, leaseMs: number): DeliveryQueue {
  const leases = createLeases({ storage, table: 'delivery_destination', leaseMs });
  return createQueue({
    storage,
    vault,
    clock,
    log: silentLog,
    leases,
    lifetimeMs: 3_600_000,
    onOutcome: async () => {},
    hasRoom: () => false,
    onStored: () => {},
  });
}

const sentTo = (recipients: readonly ReturnType<typeof parseDirectAddress>[]) => ({
  decisions: recipients.map((recipient) => ({ recipient, outcome: 'sent' as const })),
  nextAttemptAt: 0,
});

raceTest({
  title: 'a destination is claimed by one node, and the last of two that settle ends the delivery',
  async prepare(nodes) {
    const [a, b] = nodes.map((node) => openQueue(node, 60_000)) as [DeliveryQueue, DeliveryQueue];
    const { storage } = nodes[0];
    const db = storage.tables<DeliveryTables & { content: { sweep_at: number | null } }>();
    // Large enough for chunks.
    const message = Buffer.alloc(600_000, 'x');
    return async () => {
      const request = await a.prepare({
        deliveryId: randomUUID(),
        kind: 'message',
        from: parseDirectAddress('a@direct.example'),
        recipients: ['b@one.example', 'c@two.example', 'd@three.example'].map(parseDirectAddress),
        message,
      });
      await storage.transaction((tx: Kysely<unknown>) => a.enqueue(tx, request));
      const claims = await collide(
        () => a.claim(2, []),
        () => b.claim(2, []),
      );
      assert.deepEqual(refusals(claims), []);
      const items = [...succeeded(claims).flat(), ...(await a.claim(3, []))];
      assert.equal(new Set(items.map(({ id }) => id)).size, 3);
      assert.equal(items.length, 3);
      const [first, second, third] = items as [Item, Item, Item];
      await a.settle(first, sentTo(first.recipients));
      const settled = await collide(
        () => a.settle(second, sentTo(second.recipients)),
        () => b.settle(third, sentTo(third.recipients)),
      );
      assert.deepEqual(refusals(settled), []);
      assert.deepEqual(await db.selectFrom('delivery').select('id').execute(), []);
      const kept = await db.selectFrom('content').select('sweep_at').where('sweep_at', 'is', null).execute();
      assert.deepEqual(kept, []);
      const again = await Promise.allSettled([a.settle(first, sentTo(first.recipients))]);
      assert.deepEqual(refusals(again), ['PLATFORM_LEASE_LOST']);
    };
  },
});

type Item = Awaited<ReturnType<DeliveryQueue['claim']>>[number];

raceTest({
  title: 'a lease that has run out is settled by its node or claimed by the other one, never both',
  async prepare(nodes) {
    const [short, long] = [openQueue(nodes[0], 1), openQueue(nodes[1], 60_000)];
    const { storage } = nodes[0];
    return async () => {
      const request = {
        deliveryId: randomUUID(),
        kind: 'message' as const,
        from: parseDirectAddress('a@direct.example'),
        recipients: [parseDirectAddress('b@one.example')],
        message: Buffer.from('x'),
      };
      await storage.transaction((tx: Kysely<unknown>) => short.enqueue(tx, request));
      const [item] = await short.claim(1, []);
      assert.ok(item !== undefined);
      while (storage.clock.now().getTime() <= item.leaseUntil)
        await new Promise((done) => setTimeout(done, 1));
      const [settled, claimed] = await collide(
        () => short.settle(item, sentTo(item.recipients)),
        () => long.claim(1, []),
      );
      const [other] = claimed.status === 'fulfilled' ? claimed.value : [];
      assert.equal(settled.status === 'fulfilled', other === undefined);
      if (other === undefined) return;
      assert.deepEqual(refusals([settled]), ['PLATFORM_LEASE_LOST']);
      await long.settle(other, sentTo(other.recipients));
    };
  },
});

raceTest({
  title: 'a content is kept whole or refused, also while it is swept',
  async prepare(nodes) {
    // The sweeping node's clock is an hour and more ahead.
    const ahead = { now: () => new Date(clock.now().getTime() + 2 * 3_600_000) };
    const writer = createContentStore({ ...nodes[0], clock });
    const sweeper = createContentStore({ ...nodes[1], clock: ahead });
    const plain = Buffer.alloc(600_000, 'y');
    return async () => {
      const context = randomUUID();
      const stored = await writer.write(plain, context);
      const [kept] = await collide(
        () => nodes[0].storage.transaction((tx: Kysely<unknown>) => writer.keepIn(tx, stored)),
        () => sweeper.sweep(),
      );
      if (kept.status === 'rejected') return assert.deepEqual(refusals([kept]), ['PLATFORM_CONTENT_MISSING']);
      const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
      assert.equal(digest(await writer.open(stored, context)), digest(plain));
      await nodes[0].storage.transaction((tx: Kysely<unknown>) => writer.releaseIn(tx, stored));
    };
  },
});

raceTest({
  title: 'a domain is verified by one node; who has lost it stores nothing',
  async prepare(nodes) {
    const [a, b] = nodes.map(({ storage }) => createDomainWork(storage)) as [Work, Work];
    const { storage } = nodes[0];
    const db = storage.tables<AnyTables>();
    const domains = new Set(['a.example', 'b.example', 'c.example']);
    await a.list(domains, '1', 0);
    const result = (cycle: number) => ({
      found: [[`x@a.example`, { state: 'trusted', reason: '' }]] as const,
      doneUpTo: '',
      asksAll: false,
      failures: 0,
      cycle,
      cycleStartedAt: 1,
      queries: 1,
      nextAttemptAt: 0,
      checkedAt: 1,
    });
    return async (round) => {
      const claims = await collide(
        () => a.claim(2, []),
        () => b.claim(2, []),
      );
      assert.deepEqual(refusals(claims), []);
      const items = succeeded(claims).flat();
      assert.equal(new Set(items.map(({ id }) => id)).size, items.length);
      const [item] = items;
      assert.ok(item !== undefined);
      // As after a standstill.
      await db.updateTable('verification_domain').set({ lease_until: 0 }).execute();
      const [stored, claimed] = await collide(
        () => a.store(item, result(round), 1),
        () => b.claim(3, []),
      );
      const again = succeeded([claimed]).flat();
      if (stored.status === 'rejected') assert.deepEqual(refusals([stored]), ['PLATFORM_LEASE_LOST']);
      const row = await db
        .selectFrom('verification_domain')
        .select(['lease_token', 'cycle'])
        .where('id', '=', item.id)
        .executeTakeFirstOrThrow();
      const isClaimed = again.some(({ id, token }) => id === item.id && token === row['lease_token']);
      assert.equal(row['lease_token'] === null || isClaimed, true);
      if (stored.status === 'fulfilled') assert.equal(row['cycle'], round);
      await db
        .updateTable('verification_domain')
        .set({ lease_until: 0, lease_token: null, next_attempt_at: 0 })
        .execute();
    };
  },
});

type Work = ReturnType<typeof createDomainWork>;

raceTest({
  title: 'what two nodes have shown to a client adds up, in any order of the clients',
  async prepare(nodes) {
    let expected = 0;
    return async () => {
      const ledgers = nodes.map(({ storage }) => createQuotaLedger({ storage, clock, flushMs: 60_000, log }));
      for (const [index, ledger] of ledgers.entries())
        for (const client of index === 0 ? ['c', 'd'] : ['d', 'c']) await ledger.add(client, 3, 1e9);
      expected += 6;
      await Promise.all(ledgers.map((ledger) => ledger.close()));
      for (const client of ['c', 'd'])
        assert.equal((await readUsedToday(nodes[0].storage, [client], clock.now())).get(client), expected);
    };
  },
});

raceTest({
  title: 'a directory source that two nodes schedule is there once',
  async prepare(nodes) {
    const [one, two] = nodes;
    return async (round) => {
      const name = `source-${round % 8}`;
      const schedule = (node: RaceNode, path: string) => () =>
        scheduleSource({ ...node, clock }, name, { path, everyMs: 60_000 });
      assert.deepEqual(refusals(await collide(schedule(one, '/a'), schedule(two, '/b'))), []);
      const rows = await one.storage
        .tables<AnyTables>()
        .selectFrom('directory_source')
        .select('name')
        .execute();
      assert.equal(new Set(rows.map((row) => row['name'])).size, rows.length);
      assert.equal(rows.filter((row) => row['name'] === name).length, 1);
    };
  },
});

raceTest({
  title: 'a task that one node does alone never runs twice at once',
  skip: isPostgres ? false : 'one process serves with SQLite',
  async prepare([one, two]) {
    let running = 0;
    const work = async () => {
      running++;
      await new Promise((done) => setTimeout(done, 1));
      assert.equal(running, 1);
      running--;
      return 'done';
    };
    return async () => {
      const results = await collide(
        () => one.storage.tryRunExclusive('race', work),
        () => two.storage.tryRunExclusive('race', work),
      );
      assert.deepEqual(refusals(results), []);
      assert.ok(succeeded(results).some((result) => result !== undefined));
    };
  },
});

raceTest({
  title: 'of two processes with one node id one joins',
  skip: isPostgres ? false : 'the data folder has one process',
  async prepare([one, two]) {
    const join = (node: RaceNode, id: string) => () =>
      joinNodes({ storage: node.storage, log, id, version: '1.0.0', heartbeatMs: 3_600_000, waitMs: 0 });
    return async (round) => {
      const results = await collide(join(one, `node-${round}`), join(two, `node-${round}`));
      assert.deepEqual(refusals(results), ['PLATFORM_NODE_ID_TAKEN']);
      for (const node of succeeded(results)) await node.close();
    };
  },
});
