/** Decision 0038: the end of a hosted domain, on two nodes, with mail of each kind under way. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type { CodedError } from '../../src/core/index.ts';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import { createAuthority, createKeyPair, issueDirectCertificate } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { findHostedRecords, listHostedAddress } from '../../src/service/directory/index.ts';
import { closeOrganization, disableDomain, removeDomain } from '../../src/service/hosting/index.ts';
import { isMailOnHold } from '../../src/service/legal-hold/index.ts';
import { createMessagingOperator } from '../../src/service/messaging/index.ts';
import { createOrganizations } from '../../src/service/organizations/index.ts';
import { createTrust } from '../../src/service/trust/index.ts';
import {
  bob,
  createTestNodes,
  sendBody,
  startTestMessaging,
  waitUntil,
  type TestMessaging,
} from '../messaging/start-messaging.ts';

const domain = 'direct.leaving.example';
const ann = parseDirectAddress(`ann@${domain}`);
const gone = parseDirectAddress(`gone@${domain}`);
const own = parseDirectAddress('desk@direct.staying.example');
const front = parseDirectAddress('front@direct.staying.example');
const gazetteer = loadBuiltInGazetteer();
let here: TestMessaging;
let other: TestMessaging;
let clientId: string;

const report = (wireId: string) =>
  `From: ${bob}\nTo: ${ann}\nMessage-ID: <mdn@direct.beta.example>\nMIME-Version: 1.0\nContent-Type: multipart/report; report-type=disposition-notification; boundary=r\n\n--r\n\nx\n--r\nContent-Type: message/disposition-notification\n\nFinal-Recipient: rfc822; ${bob}\nOriginal-Message-ID: ${wireId}\nDisposition: automatic-action/MDN-sent-automatically; processed\n--r--\n`;
const letter = (to: string, id: string) =>
  `From: ${bob}\nTo: ${to}\nMessage-ID: <${id}@direct.beta.example>\n\nText`;

async function makeKey(owner: string) {
  const [caKeys, keys] = [await createKeyPair(), await createKeyPair()];
  const validity = {
    notBefore: new Date('2026-01-01T00:00:00Z'),
    notAfter: new Date('2028-01-01T00:00:00Z'),
  };
  const authority = createAuthority({ subject: [['CN', 'Test CA']], ...caKeys, ...validity });
  const { der } = issueDirectCertificate({
    boundTo: { domain: owner },
    publicKey: keys.publicKey,
    issuer: { certificate: authority, privateKey: caKeys.privateKey },
    ...validity,
  });
  return { der, privateKey: keys.privateKey, authority };
}

before(async () => {
  const node = await createTestNodes();
  here = await startTestMessaging({ node });
  other = await startTestMessaging({ node });
  const { trust } = here;
  const organizations = createOrganizations(here);
  for (const id of ['clinic', 'vendor']) await organizations.create({ id, name: id });
  await trust.addDomain(domain, 'clinic');
  await trust.addDomain('direct.staying.example', 'clinic');
  for (const address of [ann, own, front]) await trust.putAddress(address);
  await trust.putAddress(gone, 'disabled');
  await trust.setForwarding(own, { deliverTo: [ann], keepsCopy: true });
  await trust.setForwarding(ann, { deliverTo: [front], keepsCopy: true });
  const proofing = {
    level: 'IAL2',
    method: 'document',
    date: '2026-02-01',
    expires: '',
    verifier: 'RA 7',
    reference: 'case 12',
  };
  await here.storage.transaction((tx: Parameters<typeof trust.storeProofingsIn>[0]) =>
    trust.storeProofingsIn(tx, [{ address: ann, proofing }], false),
  );
  await listHostedAddress(here, { directAddress: ann }, gazetteer);
  const { der, privateKey, authority } = await makeKey(domain);
  await trust.addKeyPair(domain, der, privateKey);
  await trust.requestKey(ann);
  await trust.addAnchor(domain, authority.der);
  await trust.addBundle({ domain, url: 'https://bundles.example.org/b.p7b' });
  ({ clientId } = await here.oauth.clients.create({
    name: 'EHR',
    scopes: ['messaging.api'],
    directAddresses: [`@${domain}`],
    organizationId: 'clinic',
  }));
});
after(async () => {
  await other.close();
  await here.close();
});

const refusedAs = (code: string, text: RegExp) => (error: CodedError) => {
  assert.equal(error.code, code);
  assert.match(error.publicMessage, text);
  return true;
};
const auditOf = async (action: string) => {
  await here.audit.flush();
  return (await here.audit.find({ action, limit: 10 })).map(({ objects }) => objects);
};

test('a domain in use is not removed: active addresses, mail on its way, MDNs, received mail, legal holds', async () => {
  const { trust, db } = here;
  await here.receive({ from: bob, to: [ann], inner: letter(ann, 'first') });
  const client = await here.oauth.clients.get(clientId);
  await here.messaging.send(client, sendBody({ fromDirectAddress: ann }), {});
  const { id, wire_id } = await db
    .selectFrom('message')
    .select(['id', 'wire_id'])
    .where('sender_key', '=', ann)
    .executeTakeFirstOrThrow();
  const removal = await trust.describeRemoval(domain.toUpperCase());
  assert.deepEqual(
    { ...removal, obstacles: removal.obstacles.length },
    {
      domain,
      organizationId: 'clinic',
      addresses: 2,
      activeAddresses: 1,
      keys: 1,
      keyRequests: 1,
      anchors: 1,
      bundles: 1,
      unread: 1,
      deadLetters: 0,
      obstacles: 1,
    },
  );
  await assert.rejects(
    removeDomain(here, domain),
    refusedAs('TRUST_DOMAIN_IN_USE', /1 address of .* Disable them first.*openhisp domain disable/),
  );
  assert.deepEqual(await disableDomain(here, domain), [ann]);
  assert.deepEqual(await disableDomain(here, domain), [], 'done again it changes nothing');
  assert.equal((await findHostedRecords(here.storage, [ann])).size, 0);
  await assert.rejects(here.messaging.send(client, sendBody({ fromDirectAddress: ann }), {}), {
    code: 'MESSAGING_SENDER_NOT_HOSTED',
  });

  // The queue of delivery is its own service; the row is what it stores for each message, MDN and DSN.
  await sql`insert into delivery (id, kind, sender, sealed_message, created_at)
    values ('d1', 'mdn', ${ann}, '', 1)`.execute(db);
  // What is in the way is found without a transaction, in which all others would wait for the look.
  const storage = Object.assign(Object.create(here.storage) as typeof here.storage, {
    transaction: () => assert.fail('a transaction is begun'),
  });
  const reading = createTrust({ ...here, storage });
  assert.equal((await reading.describeRemoval(domain)).obstacles.length, 1);
  await assert.rejects(
    removeDomain({ ...here, storage, trust: reading }, domain),
    refusedAs('TRUST_DOMAIN_IN_USE', /1 message from it on the way out/),
  );
  await sql`delete from delivery`.execute(db);
  await here.report({ deliveryId: id, outcome: 'sent' });
  await assert.rejects(
    removeDomain(here, domain),
    refusedAs('TRUST_DOMAIN_IN_USE', /1 recipient whose MDN is awaited, until 2026-11-21T13:/),
  );
  await here.receive({ from: bob, to: [ann], inner: report(wire_id) });
  const [recipient] = await db
    .selectFrom('message_recipient')
    .select('state')
    .where('message_id', '=', id)
    .execute();
  assert.equal(recipient?.state, 'processed', 'an MDN for a disabled address is read');

  const operator = createMessagingOperator({ ...here, emit: () => {}, operator: 'operator:dana' });
  for (const what of [{ address: ann }, { organization: 'clinic' }]) {
    const hold = await operator.addLegalHold(what, 'case 1');
    await assert.rejects(
      removeDomain(here, domain),
      refusedAs('TRUST_DOMAIN_HELD', /is on legal hold\. Release it first/),
    );
    await operator.releaseLegalHold(hold.id, 'over');
  }
  assert.deepEqual((await trust.describeRemoval(domain)).obstacles, []);
  assert.deepEqual(await auditOf('domain.remove'), []);
});

test('it is removed with all its parts on every node; messages stay, and keys decrypt', async () => {
  assert.equal(await other.trust.findDomainState(domain), 'open');
  await removeDomain(here, domain);
  await waitUntil(async () => (await other.trust.findDomainState(domain)) === undefined);
  for (const { trust: node } of [here, other]) {
    assert.equal(await node.findAddress(ann), undefined);
    assert.deepEqual(await node.findPublished(domain), []);
    assert.deepEqual(await node.findSigningKeys(ann), []);
    assert.equal((await node.findDecryptionKeys([ann])).length, 1);
    assert.deepEqual((await node.findRoute(own)).deliverTo, []);
  }
  for (const table of [
    'hosted_address',
    'trust_anchor',
    'trust_bundle',
    'key_request',
    'hosted_domain',
  ] as const) {
    const { rows } = await sql`select 1 from ${sql.table(table)} where domain = ${domain}`.execute(here.db);
    assert.equal(rows.length, 0, table);
  }
  assert.deepEqual((await auditOf('domain.remove'))[0], {
    domain,
    organization: 'clinic',
    addresses: '2',
    anchors: '1',
    bundles: '1',
    unread: '1',
    deadLetters: '0',
  });
  const removed = await auditOf('address.remove');
  assert.deepEqual(
    removed.find(({ address }) => address === ann),
    {
      address: ann,
      level: 'IAL2',
      method: 'document',
      date: '2026-02-01',
      verifier: 'RA 7',
      reference: 'case 12',
    },
  );
  assert.equal(removed.length, 2);
  const client = await here.oauth.clients.get(clientId);
  const inbox = await here.messaging.listInbox(client, {});
  assert.match(JSON.stringify(inbox), /ann@direct\.leaving\.example/, 'its client still fetches what came');
  await assert.rejects(removeDomain(here, domain), { code: 'TRUST_DOMAIN_UNKNOWN' });
});

test('mail that was on its way in when the domain was removed is refused, and the audit trail has it', async () => {
  await here.receive({ from: bob, to: [ann], inner: letter(ann, 'late') });
  assert.deepEqual(
    (await auditOf('message.reject')).map(({ reason, to }) => [reason, to]),
    [['domain-not-hosted', ann]],
  );
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from inbox_message where wire_id = '<late@direct.beta.example>'`.execute(here.db);
  assert.equal(Number(rows[0]?.n), 0);
});

test('what it received stays on hold with its organization', async () => {
  const operator = createMessagingOperator({ ...here, emit: () => {}, operator: 'operator:dana' });
  const hold = await operator.addLegalHold({ organization: 'clinic' }, 'case 2');
  const isHeld = async () =>
    (
      await sql<{ n: number }>`select count(*) as n from inbox_copy c
        where ${isMailOnHold(sql.val('a@x.example'), sql`'["' || c.address || '"]'`)}`.execute(here.db)
    ).rows.map(({ n }) => Number(n));
  const [held] = await isHeld();
  assert.ok(held !== undefined && held > 0);
  await operator.releaseLegalHold(hold.id, 'over');
  assert.deepEqual(await isHeld(), [0]);
});

test('added again: by its organization as new, by another only over it', async () => {
  const { trust, oauth } = here;
  await oauth.clients.update(clientId, { directAddresses: [] });
  await assert.rejects(
    other.trust.addDomain(domain, 'vendor'),
    refusedAs(
      'TRUST_DOMAIN_TAKEN',
      /was removed from organization clinic.*--organization clinic.*move-domain direct\.leaving\.example vendor/i,
    ),
  );
  await other.trust.addDomain(domain, 'clinic');
  await waitUntil(async () => (await trust.findDomainState(domain)) === 'open');
  assert.deepEqual(await trust.listAddresses(domain), []);
  assert.deepEqual(
    (await trust.listKeyPairs(domain)).map(({ status }) => status),
    ['retired'],
  );
  await trust.putAddress(ann);
  assert.equal(await trust.findForwarding(ann), undefined);
  assert.equal(await trust.findProofing(ann), undefined);
  await trust.moveDomain(domain, 'vendor');
  await removeDomain(here, (await disableDomain(here, domain)) && domain);
  await assert.rejects(trust.addDomain(domain, 'clinic'), { code: 'TRUST_DOMAIN_TAKEN' });
});

test('a domain of a closed organization is removed, and one that is enabled meanwhile is not', async () => {
  const { trust, oauth } = here;
  const organizations = createOrganizations(here);
  const closing = parseDirectAddress('a@direct.closing.example');
  await organizations.create({ id: 'closing', name: 'Closing' });
  await trust.addDomain('direct.closing.example', 'closing');
  await trust.putAddress(closing);
  await closeOrganization({ ...here, organizations, clients: oauth.clients }, 'closing', 'Moved away.');
  await removeDomain(here, 'direct.closing.example');

  const busy = 'direct.busy.example';
  await trust.addDomain(busy);
  await trust.putAddress(parseDirectAddress(`a@${busy}`), 'disabled');
  for (let round = 0; round < 5; round++) {
    const [removed, enabled] = await Promise.allSettled([
      removeDomain(here, busy),
      other.trust.putAddress(parseDirectAddress(`a@${busy}`)),
    ]);
    // One of the two came first, and the other was refused.
    assert.equal([removed, enabled].filter(({ status }) => status === 'fulfilled').length, 1);
    const rows = await here.db
      .selectFrom('hosted_address' as never)
      .selectAll()
      .execute();
    assert.equal(
      rows.some((row) => (row as { domain: string }).domain === busy),
      removed.status === 'rejected',
    );
    if (removed.status === 'fulfilled') await trust.addDomain(busy);
    await trust.putAddress(parseDirectAddress(`a@${busy}`), 'disabled');
  }
});

test('what is added to a domain that is removed between the look at it and the transaction is refused', async () => {
  const late = 'direct.late.example';
  const storage = Object.assign(Object.create(here.storage) as typeof here.storage, {
    transaction: async (work: Parameters<typeof here.storage.transaction>[0]) => {
      await removeDomain(other, late).catch(() => {});
      return here.storage.transaction(work);
    },
  });
  const trust = createTrust({ ...here, storage });
  const address = parseDirectAddress(`a@${late}`);
  const { der, privateKey, authority } = await makeKey(late);
  const storePrepared = async (status: 'active' | 'disabled') => {
    const { storeIn } = await trust.prepareAddresses([{ address, status }]);
    await storage.transaction((tx: Parameters<typeof storeIn>[0]) => storeIn(tx, false));
  };
  for (const add of [
    () => trust.putAddress(address),
    () => trust.putAddress(address, 'disabled'),
    () => storePrepared('active'),
    () => storePrepared('disabled'),
    () => trust.addAnchor(late, authority.der),
    () => trust.addBundle({ domain: late, url: 'https://bundles.example.org/b.p7b' }),
    () => trust.addKeyPair(late, der, privateKey),
    () => trust.requestKey(late),
  ]) {
    await here.trust.addDomain(late);
    assert.equal(await trust.isHostedDomain(late), true);
    await assert.rejects(add, { code: 'TRUST_DOMAIN_UNKNOWN' }, String(add));
  }
  assert.deepEqual(await here.trust.listKeyPairs(late), []);
});
