/** Claims leave out all parties that back off, however many: more than a statement takes parameters. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createLeases, type LeaseColumns, type Leases, type Storage } from '../../src/platform/index.ts';
import { createClaims } from '../../src/service/delivery/claims.ts';
import { claimMail } from '../../src/service/messaging/inbound/spool-mail.ts';
import type { MessagingDependencies } from '../../src/service/messaging/ports.ts';
import { createDomainWork } from '../../src/service/verification/domain-work.ts';
import { createClaim } from '../../src/service/webhook/claim-notifications.ts';
import { openTestStorage } from '../support/storage.ts';

const backingOff = Array.from({ length: 70_000 }, (_, index) => `party-${index}.example`);
const due = { next_attempt_at: 0, lease_token: null, lease_until: 0, attempts: 0, last_error: '' };
const wanted = 'well.example';
const parties = ['party-0.example', wanted, 'party-69999.example'];

let storage: Storage;
before(async () => {
  storage = await openTestStorage();
});
after(() => storage.close());

const insert = (table: string, rows: readonly object[]) =>
  storage.tables<Record<string, object>>().insertInto(table).values(rows).execute();
const leasesOf = (table: string): Leases => createLeases({ storage, table, leaseMs: 60_000 });
const partiesOf = (items: readonly { readonly party: string }[]): string[] => items.map(({ party }) => party);
type Row = LeaseColumns & typeof due;

test('of destinations', async () => {
  await insert('delivery', [
    {
      id: 'd',
      kind: 'message',
      sender: 'a@a.example',
      sealed_message: Buffer.of(1),
      created_at: 0,
      message_id: 'm',
      destinations: 3,
      size_bytes: 1,
    },
  ]);
  const rows = parties.map((domain, id): Row & { domain: string } => ({ ...due, id: `${id}`, domain }));
  await insert(
    'delivery_destination',
    rows.map((row) => ({
      ...row,
      delivery_id: 'd',
      recipients: '["b@back.example"]',
      not_after: 0,
      last_reason: '',
      last_status_code: '',
    })),
  );
  const claims = createClaims({ storage, leases: leasesOf('delivery_destination') });
  const others = parties.filter((party) => party !== wanted);
  assert.deepEqual((await claims.findWanted(backingOff)).toSorted(), others, 'due at once');
  assert.deepEqual(partiesOf(await claims.claim(10, backingOff)), [wanted]);
});

test('of webhooks', async () => {
  const rows = parties.map((id) => ({
    ...due,
    id,
    webhook_id: id,
    client_id: 'c',
    kind: 'status',
    event_type: 'message.sent',
    subject: 'm',
    payload: '{}',
    state: 'waiting',
    created_at: 0,
  }));
  await insert('webhook_notification', rows);
  const claim = createClaim({ storage, leases: leasesOf('webhook_notification') }, 'status');
  assert.deepEqual(await claim(10, backingOff, ['c']), []);
  assert.deepEqual(partiesOf(await claim(10, backingOff, backingOff)), [wanted]);
});

test('of peers', async () => {
  const rows = parties.map((party) => ({
    ...due,
    id: party,
    mail_from: '',
    recipients: '["b@back.example"]',
    sealed_mail: Buffer.of(1),
    content_hash: party,
    network: '',
    remote_address: '',
    sender_domain: '',
    party,
    needs_fetch: 0,
    state: 'waiting',
    received_at: 0,
  }));
  await insert('inbound_mail', rows);
  const deps = { storage } as MessagingDependencies;
  const mails = await claimMail(deps, leasesOf('inbound_mail'), false, 10, backingOff);
  assert.deepEqual(partiesOf(mails), [wanted]);
});

test('of name servers', async () => {
  const work = createDomainWork(storage);
  await work.list(new Set(parties), '1', 0);
  assert.deepEqual(partiesOf(await work.claim(10, backingOff)), [wanted]);
});
