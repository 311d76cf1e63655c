/** The limit of what is stored for an organization. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql, type KyselyPlugin } from 'kysely';
import { readMdnOrDsn } from '../../src/lib/mdn/index.ts';
import { parseEntity } from '../../src/lib/mime/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../src/lib/values/index.ts';
import { countStored } from '../../src/service/messaging/count-stored.ts';
import {
  adviceForNearLimit,
  createOrganizations,
  describeNearLimit,
  type Organizations,
} from '../../src/service/organizations/index.ts';
import {
  alice,
  anna,
  bob,
  sendBody,
  startTestMessaging,
  type TestMessaging,
} from '../messaging/start-messaging.ts';

const dan = parseDirectAddress('dan@direct.clinic.example');
let world: TestMessaging;
let organizations: Organizations;
before(async () => {
  world = await startTestMessaging();
  organizations = createOrganizations(world);
  await organizations.create({ id: 'clinic', name: 'Clinic' });
  await world.trust.addDomain('direct.clinic.example', 'clinic');
  await world.trust.putAddress(dan);
});
after(() => world.close());

let counter = 0;
const receive = (to: readonly string[], octets: number) =>
  world.receive({
    from: bob,
    to,
    inner: `From: ${bob}\nTo: ${to.join(', ')}\nMessage-ID: <s${counter++}@x.example>\n\n${'x'.repeat(octets)}`,
  });
const countAgain = async (): Promise<number> => {
  world.clock.advance(5 * 60_000);
  await countStored(world);
  const row = await world.storage
    .tables<{ organization_stored: { organization_id: string; octets: number } }>()
    .selectFrom('organization_stored')
    .selectAll()
    .where('organization_id', '=', 'operator')
    .executeTakeFirst();
  return Number(row?.octets ?? 0);
};
const inbox = async () => (await world.messaging.listInbox(world.clinic, { limit: 100 })).messages;

test('what is kept is counted once for a domain, warned of, and then refused, for others not', async () => {
  await organizations.update('operator', { limits: { storageOctets: 110_000 } });
  await receive([alice, anna], 50_000);
  await receive([dan], 70_000);
  const account = { ...world.clinic, edgeAccount: 'account', keepsSent: true };
  await world.messaging.send(account, sendBody({ messageBody: 'x'.repeat(30_000) }), {});
  const octets = await countAgain();
  assert.ok(octets > 88_000 && octets < 95_000, `${octets}`);
  const near = await organizations.findNearLimits(async () => new Map());
  assert.deepEqual(near.map(describeNearLimit), [
    `The operator of this HISP: ${octets.toLocaleString('en-US')} of 110,000 octets stored.`,
  ]);
  assert.match(near.map(adviceForNearLimit).join(), /Mail for its addresses is refused once it is reached/);

  world.deliveries.splice(0);
  await receive([alice, dan], 30_000);
  assert.equal((await inbox()).length, 2);
  const answers = world.deliveries.map(({ from, message }) => {
    const read = readMdnOrDsn(parseEntity(message));
    return read?.kind === 'dsn' ? `${from} ${read.recipients.map(({ status }) => status).join()}` : from;
  });
  assert.deepEqual(answers.sort(), [dan, 'postmaster@direct.alpha.example 5.2.2'].sort());
  const [rejected] = await world.audit.find({ action: 'message.reject', limit: 1 });
  assert.deepEqual([rejected?.objects['to'], rejected?.objects['reason']], [alice, 'storage-full']);
  await receive([alice], 1000);
  assert.equal((await inbox()).length, 3, 'there is room for a small one');
});

test('room that retention has made, and a raised limit, are seen', async () => {
  await world.db.deleteFrom('inbox_copy').where('domain', '=', 'direct.alpha.example').execute();
  const octets = await countAgain();
  assert.ok(octets > 40_000 && octets < 43_000, `${octets}`);
  await receive([alice], 50_000);
  assert.equal((await inbox()).length, 1);
  await organizations.update('operator', { limits: { storageOctets: 10 } });
  await receive([alice], 50_000);
  assert.equal((await inbox()).length, 1);
  await organizations.update('operator', { limits: { storageOctets: null } });
  await receive([alice], 50_000);
  assert.equal((await inbox()).length, 2);
});

test('without room, who has mail already answers for it as ever, and only for the others a DSN is sent', async () => {
  world.deliveries.splice(0);
  const ask = async (to: readonly DirectAddress[]) => {
    world.clock.advance(2 * 3_600_000);
    const inner = `From: ${bob}\nTo: ${alice}, ${anna}\nMessage-ID: <again@x.example>\n\n${'x'.repeat(50_000)}`;
    await world.receive({ from: bob, to, inner });
    return world.deliveries.splice(0).map(({ from, message }) => {
      const read = readMdnOrDsn(parseEntity(message));
      return read?.kind === 'mdn'
        ? `${read.disposition} ${from}`
        : `dsn ${read?.recipients.map(({ finalRecipient, status }) => `${finalRecipient} ${status}`).join()}`;
    });
  };
  await organizations.update('operator', { limits: { storageOctets: null } });
  assert.deepEqual(await ask([alice]), [`processed ${alice}`]);
  await organizations.update('operator', { limits: { storageOctets: 10 } });
  await countAgain();
  assert.deepEqual(await ask([alice]), [`processed ${alice}`]);
  assert.deepEqual((await ask([alice, anna])).toSorted(), [`dsn ${anna} 5.2.2`, `processed ${alice}`]);
  const [rejected] = await world.audit.find({ action: 'message.reject', limit: 1 });
  assert.deepEqual([rejected?.objects['to'], rejected?.objects['reason']], [anna, 'storage-full']);
  await world.trust.putAddress(alice, 'disabled');
  await world.trust.putAddress(anna, 'disabled');
  assert.deepEqual(await ask([alice, anna]), [`dsn ${anna} 5.1.1`]);
  for (const address of [alice, anna]) await world.trust.putAddress(address);
});

test('what is kept of sent messages is read once for all organizations', async () => {
  const account = { ...world.clinic, edgeAccount: 'account', keepsSent: true };
  await world.messaging.send(account, sendBody({ messageBody: 'x'.repeat(30_000) }), {});
  for (const id of ['operator', 'clinic'])
    await organizations.update(id, { limits: { storageOctets: 1_000_000 } });
  world.clock.advance(5 * 60_000);
  let reads = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => {
      if (JSON.stringify(node).includes('sent_message')) reads++;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const tables = () => world.storage.tables<never>().withPlugin(plugin);
  await countStored({ clock: world.clock, storage: { ...world.storage, tables } as never });
  assert.equal(reads, 1);
  const { rows } = await sql<{ octets: number }>`
    select octets from organization_stored order by organization_id`.execute(world.db);
  const [ofClinic = 0, ofOperator = 0] = rows.map(({ octets }) => Number(octets));
  const { rows: received } = await sql<{ octets: number }>`
    select sum(m.size_bytes) as octets from inbox_message m where exists (
      select 1 from inbox_copy c where c.message_id = m.id and c.domain = 'direct.alpha.example'
    )`.execute(world.db);
  const { rows: sent } = await sql<{ octets: number }>`
    select sum(size_bytes) as octets from sent_message`.execute(world.db);
  assert.equal(ofOperator, Number(received[0]?.octets) + Number(sent[0]?.octets));
  assert.ok(ofClinic > 70_000 && ofClinic < 105_000, `${ofClinic}`);
});
