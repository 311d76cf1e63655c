/** Shared addresses, forwarding and absences (Decision 0036). */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { silentLog, type CodedError } from '../../src/core/index.ts';
import { readMdnOrDsn } from '../../src/lib/mdn/index.ts';
import { parseEntity } from '../../src/lib/mime/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../src/lib/values/index.ts';
import { createOrganizations } from '../../src/service/organizations/index.ts';
import { createTrustGuards } from '../../src/service/trust/guards.ts';
import type { Forwarding, TrustTables } from '../../src/service/trust/index.ts';
import { runHousekeeping } from '../../src/service/messaging/housekeeping.ts';
import { createMessagingOperator, listUnread } from '../../src/service/messaging/index.ts';
import { alice, anna, bob, mallory, startTestMessaging, type TestMessaging } from './start-messaging.ts';

const info = parseDirectAddress('info@direct.alpha.example');
const gone = parseDirectAddress('gone@direct.alpha.example');
const team = ['a', 'b', 'c'].map((text) => parseDirectAddress(`team-${text}@direct.alpha.example`));
const foreign = parseDirectAddress('dr@other.example');
let world: TestMessaging;
const stored: string[] = [];
before(async () => {
  world = await startTestMessaging({ dispatchesStored: async (address) => stored.includes(address) });
  const { storage, vault, clock, audit, trust } = world;
  const organizations = createOrganizations({ storage, vault, clock, audit });
  await organizations.create({ id: 'other', name: 'Other' });
  await trust.addDomain('other.example', 'other');
  for (const address of [info, foreign, ...team]) await trust.putAddress(address);
});
after(() => world.close());
afterEach(async () => {
  for (const client of [world.clinic, world.otherClient])
    for (const { messageId } of (await world.messaging.listInbox(client, { limit: 100 })).messages)
      await world.messaging.acknowledge(client, messageId, {});
  for (const address of [info, alice, anna, ...team]) await world.trust.setForwarding(address, undefined);
  world.deliveries.splice(0);
  stored.splice(0);
});

const rule = (deliverTo: readonly DirectAddress[], more: Partial<Forwarding> = {}): Forwarding => ({
  deliverTo,
  keepsCopy: false,
  ...more,
});
let counter = 0;
const send = (to: readonly DirectAddress[], { final = false, headers = '', id = `f${counter++}` } = {}) =>
  world.receive({
    from: bob,
    to,
    inner: `From: ${bob}\nTo: ${to.join(', ')}\nSubject: x\nMessage-ID: <${id}@direct.beta.example>\nMIME-Version: 1.0\n${
      final ? 'Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true\n' : ''
    }${headers}\nText`,
  });
const mdns = () =>
  world.deliveries.map(({ from, message }) => {
    const read = readMdnOrDsn(parseEntity(message));
    return `${read?.kind === 'mdn' ? read.disposition : read?.kind} ${from}`;
  });
const inboxes = async () =>
  (
    await Promise.all(
      [world.clinic, world.otherClient].map(
        async (client) => (await world.messaging.listInbox(client, {})).messages,
      ),
    )
  ).flat();
const acknowledge = async (recipient: DirectAddress) => {
  const entry = (await inboxes()).find((one) => one.recipient === recipient);
  const client = recipient === mallory ? world.otherClient : world.clinic;
  await world.messaging.acknowledge(client, entry?.messageId ?? '', {});
};

test('a shared address: each gets a copy, the address answers, and whoever has it first answers finally, once', async () => {
  await world.trust.setForwarding(info, rule([alice, mallory]));
  await send([info], { final: true });
  const copies = await inboxes();
  assert.deepEqual(
    copies.map(({ recipient, forwardedFrom }) => [recipient, forwardedFrom]),
    [alice, mallory].map((recipient) => [recipient, [info]]),
  );
  assert.deepEqual(mdns(), [`processed ${info}`]);
  for (const { messageId, recipient } of copies)
    assert.match(
      String(
        await world.messaging.readInbox(
          recipient === mallory ? world.otherClient : world.clinic,
          messageId,
          false,
          {},
        ),
      ),
      /Text/,
    );
  await acknowledge(mallory);
  await acknowledge(alice);
  assert.deepEqual(mdns(), [`processed ${info}`, `dispatched ${info}`]);
  const [received] = await world.audit.find({ action: 'message.receive', limit: 1 });
  assert.deepEqual(
    [received?.objects['to'], received?.objects['deliveredTo']],
    [info, `${alice} ${mallory}`],
  );
  const forwards = await world.audit.find({ action: 'message.forward', limit: 2 });
  assert.deepEqual(forwards.map(({ objects }) => `${objects['for']} ${objects['to']}`).sort(), [
    `${info} ${alice}`,
    `${info} ${mallory}`,
  ]);
});

test('with its own copy the address and the others answer once; who got it anyway gets it once', async () => {
  await world.trust.setForwarding(anna, rule([alice, mallory], { keepsCopy: true }));
  await send([anna, alice], { final: true });
  const recipients = (await inboxes()).map(({ recipient }) => recipient);
  assert.deepEqual(recipients.toSorted(), [alice, anna, mallory]);
  assert.deepEqual(mdns().sort(), [`processed ${alice}`, `processed ${anna}`]);
  for (const one of [mallory, anna, alice]) await acknowledge(one);
  assert.deepEqual(mdns().slice(2), [`dispatched ${anna}`, `dispatched ${alice}`]);
});

test('sent again, the final answer of an address without a copy goes out only if somebody has the message', async () => {
  await world.trust.setForwarding(info, rule([alice, mallory]));
  const repeat = async () => {
    await send([info], { final: true, id: 'again' });
    world.clock.advance(2 * 3_600_000);
    return mdns().splice(0, world.deliveries.splice(0).length);
  };
  assert.deepEqual(await repeat(), [`processed ${info}`]);
  assert.deepEqual(await repeat(), [`processed ${info}`]);
  const operator = createMessagingOperator({ ...world, emit: () => {}, operator: 'operator:dana' });
  const { items } = await operator.search({ text: info, limit: 1 });
  assert.deepEqual(
    items.map((row) => row.direction === 'in' && [row.to, row.isOthersOnly]),
    [[info, true]],
  );
  await acknowledge(mallory);
  assert.deepEqual(await repeat(), [`dispatched ${info}`, `processed ${info}`, `dispatched ${info}`]);
});

test('sent again to who had it by a rule only, the final answer waits for its own copy', async () => {
  await world.trust.setForwarding(info, rule([mallory]));
  const ask = { final: true, id: 'both-ways' };
  await send([info], ask);
  await acknowledge(mallory);
  await send([mallory], ask);
  world.clock.advance(2 * 3_600_000);
  await send([mallory], ask);
  const before = [`processed ${info}`, `dispatched ${info}`, `processed ${mallory}`, `processed ${mallory}`];
  assert.deepEqual(mdns(), before);
  await acknowledge(mallory);
  assert.deepEqual(mdns(), [...before, `dispatched ${mallory}`]);
});

test('an address and its deputy that acknowledge at the same moment answer once', async () => {
  await world.trust.setForwarding(anna, rule([mallory], { keepsCopy: true }));
  await send([anna], { final: true });
  // The deputy waits for the row first, and the address has read it before that is changed.
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holder = world.storage.transaction(async (tx) => {
    await sql`update inbox_copy set warned_at = warned_at where address_key = ${anna}`.execute(tx);
    held.resolve();
    await release.promise;
  });
  await held.promise;
  const both: Promise<void>[] = [];
  for (const one of [mallory, anna]) {
    both.push(acknowledge(one));
    await setTimeout(400);
  }
  release.resolve();
  await Promise.all([holder, ...both]);
  assert.deepEqual(mdns(), [`processed ${anna}`, `dispatched ${anna}`]);
});

test('who can write rows and acknowledges mail answers in the name of nobody else', async () => {
  await send([mallory], { final: true });
  await sql`insert into inbox_copy (id, message_id, address, address_key, domain, received_at, delivered_to)
    select 'x', message_id, ${alice}, ${alice}, domain, received_at, ${mallory} from inbox_copy
    where acknowledged_at is null`.execute(world.db);
  await world.trust.setForwarding(info, rule([alice]));
  await send([info], { final: true });
  await sql`update inbox_copy set delivered_to = ${`${alice} ${mallory}`} where address_key = ${info}`.execute(
    world.db,
  );
  await sql`update inbox_copy set message_id = (select message_id from inbox_copy where address_key = ${mallory}
    and acknowledged_at is null) where address_key = ${info} and dispatched_at is null`.execute(world.db);
  world.deliveries.splice(0);
  await acknowledge(mallory);
  assert.deepEqual(mdns(), [`dispatched ${mallory}`]);
  const alarms = await world.audit.find({ action: 'integrity.refuse', limit: 5 });
  assert.ok(alarms.some(({ objects }) => objects['row'] === 'x'));
  await sql`delete from inbox_copy where id = 'x'`.execute(world.db);
});

test('a mailbox that counts as dispatched once it is stored answers for the address at once', async () => {
  stored.push(alice);
  await world.trust.setForwarding(info, rule([alice]));
  await send([info], { final: true });
  await acknowledge(alice);
  assert.deepEqual(mdns(), [`processed ${info}`, `dispatched ${info}`]);
});

test('an absence ends by itself; what was received for another stays readable', async () => {
  const now = world.clock.now().getTime();
  const away = { from: new Date(now + 60_000), until: new Date(now + 120_000) };
  await world.trust.setForwarding(alice, rule([mallory], away));
  const recipients = async () => {
    await send([alice]);
    return (await inboxes()).map(({ recipient }) => recipient);
  };
  assert.deepEqual(await recipients(), [alice]);
  world.clock.advance(60_000);
  assert.deepEqual(await recipients(), [alice, mallory]);
  world.clock.advance(60_000);
  assert.deepEqual(await recipients(), [alice, alice, mallory]);
});

test('mail is never lost: of who cannot get it the audit trail tells, and the address keeps it if nobody can', async () => {
  const extra = parseDirectAddress('extra@direct.alpha.example');
  await world.trust.putAddress(extra);
  await world.trust.setForwarding(alice, rule([extra, mallory]));
  await world.trust.setForwarding(anna, rule([extra]));
  await world.trust.putAddress(extra, 'disabled');
  await send([alice, anna]);
  assert.deepEqual(
    (await inboxes()).map(({ recipient }) => recipient),
    [anna, mallory],
  );
  const told = (await world.audit.find({ action: 'message.receive', limit: 2 })).map(
    ({ objects }) => objects['notDelivered'],
  );
  assert.deepEqual(told, [`${extra} not-active`, `${extra} not-active`]);
  await world.trust.setForwarding(alice, undefined);
});

test('of those beyond fifty the audit trail tells, whoever they are, in few words; only rules are followed', async () => {
  const name = (text: string) => parseDirectAddress(`${text}@direct.alpha.example`);
  const many = Array.from({ length: 50 }, (_, index) => name(`many${index}`));
  const rest = Array.from({ length: 25 }, (_, index) => name(`rest${index}`));
  for (const address of [...many, ...rest]) await world.trust.putAddress(address);
  await world.trust.setForwarding(team[0] as DirectAddress, rule(many, { keepsCopy: true }));
  await world.trust.setForwarding(team[1] as DirectAddress, rule(rest, { keepsCopy: true }));
  await world.trust.setForwarding(info, rule(team));
  const followed: DirectAddress[] = [];
  const findRoute = (address: DirectAddress) => {
    followed.push(address);
    return world.trust.findRoute(address);
  };
  const sources = { trust: { ...world.trust, findRoute }, clients: world.oauth.clients };
  assert.ok((await listUnread(sources, 'direct.alpha.example')).includes(rest[0] as DirectAddress));
  assert.deepEqual(followed.toSorted(), [info, ...team.slice(0, 2)]);
  const { deliverTo, notDelivered } = await world.trust.findRoute(info);
  assert.deepEqual(deliverTo.toSorted(), many.toSorted());
  assert.deepEqual(
    notDelivered,
    team.map((address) => ({ address, reason: 'too-many' })),
  );
  // Eleven rules that lead to fifty each, all of whom are disabled since: five hundred are looked at, no more.
  const gone = Array.from({ length: 11 }, (_unused, rank) =>
    Array.from({ length: 50 }, (_none, index) => name(`gone${rank}-${index}`)),
  );
  const leads = gone.map((_unused, rank) => name(`lead${rank}`));
  for (const status of ['active', 'disabled'] as const) {
    await world.storage.transaction(async (tx) => {
      const changes = [...gone.flat(), ...(status === 'active' ? leads : [])];
      const prepared = await world.trust.prepareAddresses(changes.map((address) => ({ address, status })));
      await prepared.storeIn(tx, false);
    });
    if (status === 'active')
      for (const [rank, lead] of leads.entries())
        await world.trust.setForwarding(lead, rule(gone[rank] ?? []));
  }
  const last = name('last');
  await world.trust.putAddress(last);
  await world.trust.setForwarding(last, rule(leads));
  const bounded = await world.trust.findRoute(last);
  assert.deepEqual(bounded.deliverTo.length, 10);
  const reasonsOf = (reason: string) => bounded.notDelivered.filter((one) => one.reason === reason).length;
  assert.deepEqual([reasonsOf('not-active'), reasonsOf('too-many')], [489, 12]);
  for (const lead of [last, ...leads]) await world.trust.setForwarding(lead, undefined);
  await world.trust.setForwarding(team[0] as DirectAddress, undefined);
  for (const address of rest) await world.trust.putAddress(address, 'disabled');
  await send([info]);
  const [received] = await world.audit.find({ action: 'message.receive', limit: 1 });
  assert.match(String(received?.objects['notDelivered']), /^(?:rest\d+@\S+ not-active, ){20}5 more$/);
});

test('rules follow one another, never in a circle, and never leave the organization', async () => {
  await world.trust.setForwarding(info, rule([anna]));
  await world.trust.setForwarding(anna, rule([alice], { keepsCopy: true }));
  await send([info]);
  assert.deepEqual((await inboxes()).map(({ recipient }) => recipient).sort(), [alice, anna]);
  const refused = (field: string, text: RegExp) => (error: CodedError) => {
    assert.equal(error.code, 'TRUST_FORWARDING_INVALID');
    assert.deepEqual(
      [error.problems[0]?.field, text.test(error.publicMessage)],
      [field, true],
      error.message,
    );
    return true;
  };
  const other = /is not an active hosted address of the same organization/;
  const past = new Date(world.clock.now().getTime() - 1);
  for (const [address, forwarding, field, text] of [
    [alice, rule([info]), 'deliverTo', /info@direct\.alpha\.example leads back to alice/],
    [alice, rule([alice]), 'deliverTo', /the address itself/],
    [alice, rule([]), 'deliverTo', /1 to 50/],
    [alice, rule([foreign]), 'deliverTo', other],
    [alice, rule([bob]), 'deliverTo', other],
    [alice, rule([gone]), 'deliverTo', other],
    [foreign, rule([alice]), 'deliverTo', other],
    [alice, rule([mallory], { until: past }), 'until', /in the past/],
  ] as const)
    await assert.rejects(world.trust.setForwarding(address, forwarding), refused(field, text));
  await assert.rejects(world.trust.setForwarding(bob, rule([alice])), { code: 'TRUST_ADDRESS_UNKNOWN' });
  // As two that are stored at once may be: what comes ends somewhere, once.
  const guards = createTrustGuards(world);
  const circle = {
    address_key: alice,
    deliver_to: `${info} ${anna}`,
    keeps_copy: 0,
    begins_at: null,
    ends_at: null,
  };
  await world.storage
    .tables<TrustTables>()
    .insertInto('address_forwarding')
    .values(guards.forwardings.withMac(circle))
    .execute();
  await send([info]);
  assert.deepEqual(
    (await inboxes())
      .slice(2)
      .map(({ recipient }) => recipient)
      .sort(),
    [alice, anna],
  );
});

test('a copy whose row was given to another address by hand is refused', async () => {
  await world.trust.setForwarding(info, rule([alice]));
  await send([info]);
  await sql`update inbox_copy set address = ${mallory}, address_key = ${mallory} where forwarded_from <> ''`.execute(
    world.db,
  );
  const [entry] = await inboxes();
  await assert.rejects(world.messaging.readInbox(world.otherClient, entry?.messageId ?? '', false, {}), {
    code: 'MESSAGING_ROW_CHANGED',
  });
  await sql`update inbox_copy set acknowledged_at = 1 where forwarded_from <> ''`.execute(world.db);
});

test('what came for an address stays known, answered and held for as long as somebody has it', async () => {
  const operator = createMessagingOperator({ ...world, emit: () => {}, operator: 'operator:dana' });
  const clean = async () => {
    world.clock.advance(31 * 86_400_000);
    await runHousekeeping({ ...world, log: silentLog } as never);
    return (await world.db.selectFrom('inbox_copy').select('address').execute())
      .map(({ address }) => address)
      .toSorted();
  };
  await clean();
  await world.trust.setForwarding(info, rule([mallory]));
  await send([info], { final: true });
  assert.deepEqual(await clean(), [info, mallory]);
  await acknowledge(mallory);
  assert.deepEqual(mdns(), [`processed ${info}`, `dispatched ${info}`]);
  const hold = await operator.addLegalHold({ address: info }, 'Case 20');
  assert.deepEqual(await clean(), [info, mallory]);
  // As a retention job leaves it that ended between two batches.
  await sql`delete from inbox_copy where address_key = ${info}`.execute(world.db);
  assert.deepEqual(await clean(), [mallory]);
  await operator.releaseLegalHold(hold.id, 'Settled');
  assert.deepEqual(await clean(), []);
  await send([info]);
  await acknowledge(mallory);
  assert.deepEqual(await clean(), []);
});
