/**
 * Decision 0034: what is on legal hold outlives every retention job. A message of each kind leaves rows in all tables that lose their
 * old ones; `retention.slow.test.ts` does the same with a whole HISP, and fails for a table or a job that is not known here.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sql, type Kysely } from 'kysely';
import { createManualClock, silentLog } from '../../src/core/index.ts';
import { runHousekeeping } from '../../src/service/messaging/housekeeping.ts';
import { deleteOldRows, isMailOnHold } from '../../src/service/legal-hold/index.ts';
import type { MessagingTables } from '../../src/service/messaging/tables.ts';
import type { DeliveryRequest } from '../../src/service/delivery/index.ts';
import { isPostgres } from '../support/storage.ts';
import { createOrganizations } from '../../src/service/organizations/index.ts';
import { createMessagingOperator, type MessagingOperator } from '../../src/service/messaging/index.ts';
import type { MessagingDependencies } from '../../src/service/messaging/ports.ts';
import { deleteOldAttempts } from '../../src/service/delivery/retention.ts';
import { runPurge } from '../../src/service/webhook/purge.ts';
import {
  alice,
  anna,
  bob,
  carol,
  sendBody,
  startTestMessaging,
  waitUntil,
  type TestMessaging,
} from './start-messaging.ts';

const day = 86_400_000;
let world: TestMessaging;
let operator: MessagingOperator;
before(async () => {
  world = await startTestMessaging();
  operator = createMessagingOperator({ ...world, emit: () => {}, operator: 'operator:dana' });
  for (const id of ['held', 'free']) await createOrganizations(world).create({ id, name: id });
  await world.trust.addDomain('direct.held.example', 'held');
});
after(() => world.close());

/** Everything that is left of a message or letter, by table. */
type Left = Readonly<Record<string, number>>;

interface Made {
  /** By which an operator names it; undefined for mail that was not opened. */
  readonly messageId: string | undefined;
  left(): Promise<Left>;
}

const insert = async (table: string, row: Readonly<Record<string, unknown>>): Promise<void> => {
  const columns = sql.join(Object.keys(row).map((name) => sql.ref(name)));
  const values = sql.join(Object.values(row).map((value) => sql.val(value)));
  await sql`insert into ${sql.table(table)} (${columns}) values (${values})`.execute(world.db);
};

async function count(table: string, column: string, value: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from ${sql.table(table)} where ${sql.ref(column)} = ${value}`.execute(world.db);
  return Number(rows[0]?.n);
}

let serial = 0;
let webhookId: string | undefined;

/** One try of a delivery, with the name that delivery stores for it. */
async function makeAttempt(
  request: Pick<DeliveryRequest, 'deliveryId' | 'messageId'> | undefined,
): Promise<string> {
  assert.ok(request);
  const at = world.clock.now().getTime();
  const id = `${String(at).padStart(15, '0')}-${request.deliveryId}`;
  await insert('delivery_attempt', {
    id,
    delivery_id: request.deliveryId,
    message_id: request.messageId ?? request.deliveryId,
    domain: 'direct.beta.example',
    host: '',
    address: '',
    tls: '',
    reply: '',
    code: '',
    certificates: '[]',
    outcome: 'sent',
    started_at: at,
    duration_ms: 1,
  });
  return id;
}

/** Some statement of this database waits for a lock. */
async function isAnyWaiting(): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(world.storage.db);
  return rows.length > 0;
}

/** A sent message as an edge account keeps it, with an MDN, attempts, and a webhook that failed. */
async function makeSent(from: string, to: string): Promise<Made> {
  const body = sendBody({ fromDirectAddress: from, toDirectAddress: to });
  const { messageId } = await world.messaging.send(
    { ...world.clinic, edgeAccount: 'account', keepsSent: true },
    body,
    {},
  );
  const uuid = messageId.slice('urn:uuid:'.length);
  const { id, wire_id } = await world.db
    .selectFrom('message')
    .select(['id', 'wire_id'])
    .where('uuid', '=', uuid)
    .executeTakeFirstOrThrow();
  await world.report({ deliveryId: id, outcome: 'sent', recipient: to as typeof bob });
  const recipient = await world.db
    .selectFrom('message_recipient')
    .select('id')
    .where('message_id', '=', id)
    .executeTakeFirstOrThrow();
  const at = world.clock.now().getTime();
  const mdn = await world.contents.write(Buffer.from('an MDN'), 'evidence');
  await insert('mdn_evidence', {
    id: `mdn-${id}`,
    recipient_id: recipient.id,
    sealed_mdn: mdn,
    signer_path: '[]',
    received_at: at,
  });
  await insert('path_certificate', { fingerprint: id, der: mdn, used_at: at });
  await makeAttempt({ deliveryId: id, messageId: wire_id });
  await makeNotification(id, messageId, messageId);
  return {
    messageId,
    left: async () => ({
      message: await count('message', 'id', id),
      details: Number(
        (
          await sql<{ n: number }>`
            select count(*) as n from message where id = ${id} and sealed_details is not null`.execute(
            world.db,
          )
        ).rows[0]?.n,
      ),
      message_recipient: await count('message_recipient', 'message_id', id),
      recipient_event: await count('recipient_event', 'recipient_id', recipient.id),
      mdn_evidence: await count('mdn_evidence', 'recipient_id', recipient.id),
      path_certificate: await count('path_certificate', 'fingerprint', id),
      sent_message: await count('sent_message', 'message_id', id),
      delivery_attempt: await count('delivery_attempt', 'delivery_id', id),
      webhook_attempt: await count('webhook_attempt', 'notification_id', `n-${id}`),
      webhook_notification: await count('webhook_notification', 'id', `n-${id}`),
    }),
  };
}

async function makeNotification(name: string, subject: string, messageId: string): Promise<void> {
  webhookId ??= (
    await world.webhooks.create('clinic', { url: 'http://127.0.0.1:9/', eventTypes: ['message.expired'] })
  ).webhook.id;
  const at = world.clock.now().getTime();
  await insert('webhook_notification', {
    id: `n-${name}`,
    webhook_id: webhookId,
    client_id: 'clinic',
    kind: 'status',
    event_type: 'message.failed',
    subject,
    payload: '{}',
    state: 'dead',
    attempts: 9,
    next_attempt_at: 0,
    lease_until: 0,
    last_error: '',
    created_at: at,
    settled_at: at,
  });
  await insert('webhook_attempt', {
    id: `a-${name}`,
    webhook_id: webhookId,
    notification_id: `n-${name}`,
    message_id: messageId,
    attempt: 1,
    error: 'x',
    attempted_at: at,
    duration_ms: 1,
  });
}

/** A received message that its client has acknowledged, and the attempt of its MDN. */
async function makeReceived(from: string, to: readonly string[]): Promise<Made> {
  const wireId = `<in-${++serial}@direct.beta.example>`;
  const known = await world.db.selectFrom('inbox_message').select('id').execute();
  await world.receive({
    from: from as typeof bob,
    to,
    inner: `From: ${from}\nTo: ${to.join(', ')}\nMessage-ID: ${wireId}\n\nText`,
  });
  const { id } = await world.db
    .selectFrom('inbox_message')
    .select('id')
    .where('wire_id', '=', wireId)
    .executeTakeFirstOrThrow();
  assert.ok(known.every((row) => row.id !== id));
  const copies = await world.db.selectFrom('inbox_copy').select('id').where('message_id', '=', id).execute();
  for (const copy of copies)
    await world.messaging.acknowledge(world.clinic, `urn:uuid:${copy.id}` as never, {});
  await makeAttempt({ deliveryId: id, messageId: wireId });
  await makeNotification(id, copies[0]?.id ?? '', `urn:uuid:${copies[0]?.id}`);
  return {
    messageId: wireId,
    left: async () => ({
      inbox_message: await count('inbox_message', 'id', id),
      inbox_copy: (await count('inbox_copy', 'message_id', id)) / to.length,
      delivery_attempt: await count('delivery_attempt', 'delivery_id', id),
      webhook_attempt: await count('webhook_attempt', 'notification_id', `n-${id}`),
      webhook_notification: await count('webhook_notification', 'id', `n-${id}`),
    }),
  };
}

async function makeDeadLetter(from: string, to: readonly string[]): Promise<Made> {
  const id = `dead-${++serial}`;
  await insert('inbound_mail', {
    id,
    mail_from: from,
    recipients: JSON.stringify(to),
    sealed_mail: await world.contents.write(Buffer.from('x'), `inbound:${id}`),
    content_hash: id,
    network: '',
    sender_domain: 'direct.beta.example',
    party: '',
    needs_fetch: 0,
    state: 'dead-letter',
    attempts: 9,
    next_attempt_at: 0,
    lease_until: 0,
    last_error: 'X_BROKEN',
    received_at: world.clock.now().getTime(),
  });
  return {
    messageId: undefined,
    left: async () => ({ inbound_mail: await count('inbound_mail', 'id', id) }),
  };
}

interface Acknowledged {
  readonly id: string;
  readonly from: string;
  readonly wireId: string;
}

/** Messages that Alice has received and acknowledged at one time. */
async function storeAcknowledged(messages: readonly Acknowledged[]): Promise<void> {
  const at = world.clock.now().getTime();
  await world.storage.transaction(async (tx) => {
    await world.storage.bulkInsert(tx, {
      table: 'inbox_message',
      columns: [
        'id',
        'sender',
        'wire_id',
        'sealed_message',
        'requests_final_delivery',
        'attachment_count',
        'size_bytes',
        'received_at',
      ],
      rows: messages.map(({ id, from, wireId }) => [id, from, wireId, Buffer.from('x'), 0, 0, 1, at]),
    });
    await world.storage.bulkInsert(tx, {
      table: 'inbox_copy',
      columns: ['id', 'message_id', 'address', 'address_key', 'domain', 'acknowledged_at', 'received_at'],
      rows: messages.map(({ id }) => [`c-${id}`, id, alice, alice, 'direct.alpha.example', at, at]),
    });
  });
}

/** All retention jobs that delete what belongs to messages, a century later. */
async function runRetention(): Promise<void> {
  const now = world.clock.now();
  const later = createManualClock(new Date(now.getTime() + 36_525 * day));
  const deps = { ...world, clock: later, log: silentLog } as unknown as MessagingDependencies;
  await runHousekeeping(deps);
  await deleteOldAttempts(world.storage, later.now().getTime() - 400 * day);
  await runPurge({
    storage: world.storage,
    clock: later,
    log: silentLog,
    retention: { deadLetterDays: 30, attemptDays: 30 },
  });
}

const all = async (made: Made, expected: number): Promise<void> => {
  const left = await made.left();
  assert.deepEqual(left, Object.fromEntries(Object.keys(left).map((table) => [table, expected])));
};

describe('Decision 0034: legal hold', () => {
  const sender = 'Dr.Zed@direct.beta.example';
  const ofHeld = 'Dr.Held@direct.held.example';
  const cases: readonly {
    readonly title: string;
    readonly make: () => Promise<Made>;
    readonly hold: (made: Made) => Parameters<MessagingOperator['addLegalHold']>[0];
  }[] = [
    {
      title: 'a sent message, by its id',
      make: () => makeSent(alice, bob),
      hold: ({ messageId = '' }) => ({ messageId }),
    },
    {
      title: 'a sent message, by its sender',
      make: () => makeSent(anna, bob),
      hold: () => ({ address: anna }),
    },
    {
      title: 'a sent message, by its recipient',
      make: () => makeSent(alice, 'Someone@direct.beta.example'),
      hold: () => ({ address: 'someone@Direct.Beta.Example' }),
    },
    {
      title: 'a received message, by its Message-ID',
      make: () => makeReceived(bob, [alice]),
      hold: ({ messageId = '' }) => ({ messageId }),
    },
    {
      title: 'a received message, all copies, by one of its recipients',
      make: () => makeReceived(bob, [alice, anna]),
      hold: () => ({ address: anna }),
    },
    {
      title: 'a received message, by its sender',
      make: () => makeReceived(sender, [alice]),
      hold: () => ({ address: sender }),
    },
    {
      title: 'a sent message, by the organization of its recipient',
      make: () => makeSent(alice, ofHeld),
      hold: () => ({ organization: 'held' }),
    },
    {
      title: 'a received message, by the organization of its sender',
      make: () => makeReceived(ofHeld, [alice, anna]),
      hold: () => ({ organization: 'held' }),
    },
    {
      title: 'a dead letter, by the organization of its recipient',
      make: () => makeDeadLetter(bob, [alice, ofHeld]),
      hold: () => ({ organization: 'held' }),
    },
    {
      title: 'a dead letter, by its sender',
      make: () => makeDeadLetter(sender, [alice]),
      hold: () => ({ address: sender }),
    },
    {
      title: 'a dead letter, by its recipient',
      make: () => makeDeadLetter(bob, [alice, anna]),
      hold: () => ({ address: anna }),
    },
  ];

  for (const { title, make, hold } of cases)
    it(`keeps ${title}, until it is released; what else is old goes`, async () => {
      const kept = await make();
      const other = await makeSent(alice, carol);
      const letter = await makeDeadLetter(bob, [alice]);
      const { id } = await operator.addLegalHold(hold(kept), 'Case 12');
      // Twice: the second run goes on behind what the first one kept.
      for (let run = 0; run < 2; run++) await runRetention();
      await all(kept, 1);
      const { path_certificate, ...rest } = await other.left();
      assert.equal(path_certificate, 1, 'certificates stay while anything is on hold');
      const gone = { ...rest, ...(await letter.left()) };
      assert.deepEqual(
        Object.entries(gone).filter(([, left]) => left > 0),
        [],
      );
      await operator.releaseLegalHold(id, 'The case is closed');
      await runRetention();
      await all(kept, 0);
    });

  it('goes on behind what it kept, past a batch, and from the beginning after a release', async () => {
    const ids = Array.from({ length: 1_100 }, (_unused, index) => `r${String(index).padStart(4, '0')}`);
    await storeAcknowledged(
      ids.map((id) => ({ id, from: id === 'r1099' ? bob : carol, wireId: `<${id}@x.example>` })),
    );
    const countCopies = () => count('inbox_copy', 'address_key', alice);
    const holds = [
      await operator.addLegalHold({ address: carol }, 'Case 13'),
      await operator.addLegalHold({ messageId: '<r1099@x.example>' }, 'Case 13'),
    ];
    const other = await operator.addLegalHold({ address: sender }, 'Case 14');
    for (let run = 0; run < 2; run++) {
      await runRetention();
      assert.equal(await countCopies(), 1_100);
    }
    for (const { id } of holds) await operator.releaseLegalHold(id, 'Done');
    await runRetention();
    assert.equal(await countCopies(), 0, 'a hold that was released keeps nothing while another is in force');
    await operator.releaseLegalHold(other.id, 'Done');
  });

  it('keeps received messages that share their Message-ID with more than are looked at, while anything is on hold', async () => {
    const reuse = (times: number, wireId: string): readonly Acknowledged[] =>
      Array.from({ length: times }, (_unused, index) => ({ id: `${times}-${index}`, from: bob, wireId }));
    await storeAcknowledged([...reuse(100, '<few@x.example>'), ...reuse(101, '<many@x.example>')]);
    const { id } = await operator.addLegalHold({ address: sender }, 'Case 15');
    await runRetention();
    assert.equal(await count('inbox_message', 'wire_id', '<few@x.example>'), 0);
    assert.equal(await count('inbox_message', 'wire_id', '<many@x.example>'), 101);
    await operator.releaseLegalHold(id, 'Done');
    await runRetention();
    assert.equal(await count('inbox_message', 'wire_id', '<many@x.example>'), 0);
  });

  it('leaves no content behind if a hold ends between the jobs of sent mail and of messages', async () => {
    const made = await makeSent(alice, bob);
    const uuid = (made.messageId ?? '').slice('urn:uuid:'.length);
    const { id } = await world.db
      .selectFrom('message')
      .select('id')
      .where('uuid', '=', uuid)
      .executeTakeFirstOrThrow();
    const stored = await world.contents.write(Buffer.alloc(3_000_000), `sent:${id}`);
    await world.storage.transaction(async (tx: Kysely<MessagingTables>) => {
      await world.contents.keepIn(tx, stored);
      // As the message's job finds it: the row of its sent mail was skipped, and its hold is released.
      await tx
        .updateTable('sent_message')
        .set({ sealed_message: stored, created_at: world.clock.now().getTime() + 365_000 * day })
        .where('message_id', '=', id)
        .execute();
    });
    const ofContents = async () => {
      const { rows } = await sql<{
        n: number;
      }>`select count(*) as n from content where sweep_at is null`.execute(world.db);
      return Number(rows[0]?.n);
    };
    const before = await ofContents();
    await runRetention();
    await all(made, 0);
    assert.equal(await ofContents(), before - 1);
  });

  it(
    'is not confirmed while what it keeps is being deleted',
    { skip: !isPostgres && 'SQLite runs one transaction after another' },
    async () => {
      const made = await makeDeadLetter(sender, [alice]);
      const judged = Promise.withResolvers<void>();
      let isAdded = false;
      // Of another session: nothing of it is within the transaction that deletes.
      const adding = judged.promise.then(async () => {
        const hold = await operator.addLegalHold({ address: sender }, 'Case 15');
        isAdded = true;
        return hold;
      });
      const waited = judged.promise.then(() => waitUntil(async () => isAdded || (await isAnyWaiting())));
      await deleteOldRows(
        world.storage,
        {
          name: 'raced',
          table: 'inbound_mail',
          order: ['received_at', 'id'],
          isOld: sql<boolean>`inbound_mail.state = 'dead-letter'`,
          isOnHold: isMailOnHold(sql.ref('inbound_mail.mail_from'), sql.ref('inbound_mail.recipients')),
        },
        async (tx, ids) => {
          judged.resolve();
          await waited;
          assert.equal(isAdded, false, 'confirmed, and its mail deleted');
          await sql`delete from inbound_mail where id in (${sql.join(ids)})`.execute(tx as Kysely<unknown>);
        },
      );
      await all(made, 0);
      await operator.releaseLegalHold((await adding).id, 'Settled');
    },
  );

  it('keeps failed notifications when their webhook is removed, until it is released', async () => {
    const made = await makeSent(alice, bob);
    const ofHook = webhookId ?? '';
    const { id } = await operator.addLegalHold({ messageId: made.messageId ?? '' }, 'Case 16');
    await sql`
      insert into webhook_notification (id, webhook_id, client_id, kind, event_type, subject, payload, state, attempts,
        next_attempt_at, lease_until, last_error, created_at, settled_at)
      select 'waits', webhook_id, client_id, kind, event_type, subject, payload, 'held', 0, 0, 0, '', created_at, created_at
      from webhook_notification where webhook_id = ${ofHook} and state = 'dead' limit 1`.execute(world.db);
    await world.webhooks.hooks.remove('clinic', ofHook);
    webhookId = undefined;
    await all(made, 1);
    assert.equal(await count('webhook_notification', 'id', 'waits'), 0);
    await runRetention();
    await all(made, 1);
    await operator.releaseLegalHold(id, 'Settled');
    await runRetention();
    await all(made, 0);
  });

  it('keeps received mail without a Message-ID by its own parties, with the attempts of its MDN', async () => {
    const receive = async (from: string): Promise<{ id: string; attempt: string }> => {
      const known = new Set(
        (await world.db.selectFrom('inbox_message').select('id').execute()).map((row) => row.id),
      );
      await world.receive({
        from: from as typeof bob,
        to: [alice],
        inner: `From: ${from}\nTo: ${alice}\n\nText of ${++serial}`,
      });
      const found = (await world.db.selectFrom('inbox_message').select(['id', 'wire_id']).execute()).find(
        (row) => !known.has(row.id),
      );
      assert.equal(found?.wire_id, '');
      const { id } = await world.db
        .selectFrom('inbox_copy')
        .select('id')
        .where('message_id', '=', found?.id ?? '')
        .executeTakeFirstOrThrow();
      await world.messaging.acknowledge(world.clinic, `urn:uuid:${id}` as never, {});
      return { id: found?.id ?? '', attempt: await makeAttempt(world.deliveries.at(-1)) };
    };
    const kept = await receive(sender);
    const other = await receive(bob);
    const leftOf = async ({ id, attempt }: typeof kept) => [
      await count('inbox_message', 'id', id),
      await count('delivery_attempt', 'id', attempt),
    ];
    const { id } = await operator.addLegalHold({ address: sender }, 'Case 17');
    await runRetention();
    assert.deepEqual(
      [await leftOf(kept), await leftOf(other)],
      [
        [1, 1],
        [0, 0],
      ],
    );
    await operator.releaseLegalHold(id, 'Settled');
    await runRetention();
    assert.deepEqual(await leftOf(kept), [0, 0]);
  });

  it('keeps the attempts of an MDN about a message with a long Message-ID', async () => {
    const wireId = `<${'x'.repeat(400)}@direct.beta.example>`;
    await world.receive({ from: bob, to: [alice], inner: `Message-ID: ${wireId}\n\nText` });
    const attempt = await makeAttempt(world.deliveries.at(-1));
    const { id } = await operator.addLegalHold({ messageId: wireId }, 'Case 18');
    await runRetention();
    assert.equal(await count('delivery_attempt', 'id', attempt), 1);
    await operator.releaseLegalHold(id, 'Settled');
    await runRetention();
    assert.equal(await count('delivery_attempt', 'id', attempt), 0);
  });

  it('of an organization is shown with its mail, and keeps its domains where they are', async () => {
    const move = (to: string) => world.trust.moveDomain('direct.held.example', to);
    await assert.rejects(operator.addLegalHold({ organization: 'nobody' }, 'Case 19'), {
      code: 'LEGAL_HOLD_INVALID',
    });
    const hold = await operator.addLegalHold({ organization: 'held' }, 'Case 19');
    await assert.rejects(operator.addLegalHold({ organization: 'held' }, 'Case 19'), {
      code: 'LEGAL_HOLD_EXISTS',
    });
    const { messageId = '' } = await makeSent(alice, ofHeld);
    const other = (await makeSent(alice, bob)).messageId ?? '';
    assert.deepEqual((await operator.show(messageId))[0]?.legalHolds, [hold]);
    assert.deepEqual((await operator.show(other))[0]?.legalHolds, []);
    await assert.rejects(move('free'), { code: 'TRUST_DOMAIN_HELD' });
    await operator.releaseLegalHold(hold.id, 'Settled');
    const [event] = await world.audit.find({ action: 'legal-hold.release', limit: 1 });
    assert.equal(event?.objects['organization'], 'held');
    await move('free');
    await move('held');
  });

  it('is added once, listed with author and reason, released once, and audited', async () => {
    const made = await makeSent(alice, bob);
    const hold = await operator.addLegalHold({ messageId: made.messageId ?? '' }, 'Case 14');
    await assert.rejects(operator.addLegalHold({ messageId: made.messageId ?? '' }, 'Case 14'), {
      code: 'LEGAL_HOLD_EXISTS',
    });
    const [shown] = await operator.show(made.messageId ?? '');
    assert.deepEqual(shown?.legalHolds, [hold]);
    assert.deepEqual(
      [hold.author, hold.reason, hold.kind, hold.subject],
      ['operator:dana', 'Case 14', 'message', shown?.wireId],
    );
    assert.deepEqual(await operator.listLegalHolds(), [hold]);
    const { released } = await operator.releaseLegalHold(hold.id, 'Settled');
    assert.deepEqual([released?.by, released?.reason], ['operator:dana', 'Settled']);
    await assert.rejects(operator.releaseLegalHold(hold.id, 'Settled'), { code: 'LEGAL_HOLD_UNKNOWN' });
    assert.deepEqual(await operator.listLegalHolds(), []);
    assert.ok((await operator.listLegalHolds({ withReleased: true })).some(({ id }) => id === hold.id));
    for (const [action, reason] of [
      ['legal-hold.add', 'Case 14'],
      ['legal-hold.release', 'Settled'],
    ] as const) {
      const [event] = await world.audit.find({ action, limit: 1 });
      assert.deepEqual(
        [event?.actor, event?.objects['holdId'], event?.objects['messageId'], event?.objects['reason']],
        ['operator:dana', hold.id, shown.wireId, reason],
      );
    }
  });

  it('refuses what is no address, no message, and no reason', async () => {
    const refused = async (what: Parameters<typeof operator.addLegalHold>[0], reason: string, code: string) =>
      assert.rejects(operator.addLegalHold(what, reason), { code });
    await refused({ address: 'nobody' }, 'Case', 'LEGAL_HOLD_INVALID');
    await refused({ address: alice }, ' ', 'LEGAL_HOLD_INVALID');
    await refused({ address: alice }, 'two\nlines', 'LEGAL_HOLD_INVALID');
    await refused({ messageId: '<none@x.example>' }, 'Case', 'MESSAGING_MESSAGE_NOT_FOUND');
    assert.deepEqual(await operator.listLegalHolds(), []);
  });
});
