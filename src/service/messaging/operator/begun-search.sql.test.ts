import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withManyMessages } from '../../../../test/support/search-many.ts';
import { explainStatement, watchStatements } from '../../../../test/support/statements.ts';
import { isPostgres } from '../../../../test/support/storage.ts';
import type { Owned } from '../../organizations/index.ts';
import type { MessagingTables } from '../tables.ts';
import { findAddressesBeginning, findDomainsWith } from './find-addresses.ts';
import { searchMessages } from './search-messages.ts';

const indexes = /message_recipient_address|message_sender|inbox_copy_address|inbox_message_sender/;

test('messages are found by the beginning of an address and by the first digits of an id', () =>
  withManyMessages(2_000, async ({ storage, find }) => {
    const all = await find({});
    const [some] = all;
    assert.ok(some !== undefined);
    const now = new Date(some.acceptedAt.getTime() + 1000);
    const search = async (text: string): Promise<readonly string[]> => {
      const { items, unread } = await searchMessages(
        storage,
        { find: () => Promise.resolve([]) },
        { text, limit: 200 },
        now,
      );
      assert.deepEqual(unread, []);
      return items.map(({ id }) => id);
    };
    const [local = '', domain] = some.to.split('@');
    assert.ok((await search(local.slice(0, -1).toUpperCase())).includes(some.id), local);
    assert.deepEqual(
      (await search(`${local} @${domain}`)).toSorted(),
      (await search(some.to)).toSorted(),
      'with its domain as another word',
    );
    assert.deepEqual(await search('nobodyofthisname'), []);
    const uuid = some.messageId.replace('urn:uuid:', '');
    const begun = await search(`${uuid.slice(0, -1)}…`);
    assert.ok(begun.includes(some.id));
    assert.ok(begun.length < all.length);
    const { watched, take } = watchStatements(storage);
    await findAddressesBeginning(watched.tables(), local);
    // PostgreSQL reads an empty table whole.
    const filled = take().filter(({ sql }) => !isPostgres || !sql.includes('inbox'));
    assert.ok(filled.length > 2);
    for (const statement of filled)
      assert.match((await explainStatement(storage, statement, isPostgres)).join('\n'), indexes);
  }));

test('messages are found by a part of a domain of a sender or recipient', () =>
  withManyMessages(2_000, async ({ storage, find }) => {
    const db = storage.tables<MessagingTables>();
    const audit = { find: () => Promise.resolve([]) };
    const [some] = await find({});
    assert.ok(some !== undefined);
    const now = new Date(some.acceptedAt.getTime() + 1000);
    const domains = new Set((await find({})).flatMap(({ from, to }) => [domainOf(from), domainOf(to)]));
    const domain = domainOf(some.to);
    const search = async (text: string, owned?: Owned) =>
      (await searchMessages(storage, audit, { text, limit: 200, ...(owned && { owned }) }, now)).items;
    const part = domain.slice(1, -1);
    const fitting = [...domains].filter((one) => one.includes(part));
    assert.ok(!domains.has(part) && fitting.length <= 10, part);
    const found = await search(part.toUpperCase());
    assert.ok(found.some(({ id }) => id === some.id));
    for (const { from, to } of found)
      assert.match(`${from} ${to}`, new RegExp(`@\\S*${part.replaceAll('.', '\\.')}`));
    const inside = (await findDomainsWith(db, part)).domains;
    assert.deepEqual(
      fitting.filter((one) => !inside.includes(one)),
      [],
    );
    // A whole domain means no other one.
    assert.ok(
      (await search(domain)).every(({ from, to }) => [from, to].some((one) => domainOf(one) === domain)),
    );
    assert.deepEqual((await findDomainsWith(db, 'nodomainhasthis')).domains, []);
    const others: Owned = {
      organizationId: 'some',
      organizations: new Set(['some']),
      domains: new Set(),
      clients: new Set(['nobody']),
    };
    assert.deepEqual((await findDomainsWith(db, part, others)).domains, []);
    const { watched, take } = watchStatements(storage);
    await findDomainsWith(watched.tables(), part);
    const statements = take().filter(({ sql }) => !isPostgres || !sql.includes('inbox'));
    assert.ok(statements.length >= 2);
    for (const statement of statements)
      assert.doesNotMatch(
        (await explainStatement(storage, statement, isPostgres)).join('\n'),
        /SCAN (?:message|inbox)|Seq Scan/,
      );
  }));

test('a search says on its first page how many rows match, up to 500', () =>
  withManyMessages(2_000, async ({ storage, find }) => {
    const audit = { find: () => Promise.resolve([]) };
    const [some] = await find({});
    assert.ok(some !== undefined);
    const now = new Date(some.acceptedAt.getTime() + 1000);
    const search = (more: { readonly text?: string; readonly since?: Date; readonly cursor?: string }) =>
      searchMessages(storage, audit, { limit: 1, ...more }, now);
    const text = domainOf(some.to);
    const all = await searchMessages(storage, audit, { text, limit: 500 }, now);
    assert.equal(all.total, all.next === undefined ? all.items.length : null);
    const { total, items, next = '' } = await search({ text });
    assert.deepEqual([total, items.length], [all.total, 1]);
    const later = await search({ text, cursor: next });
    assert.equal(later.total, undefined);
    assert.equal(later.items[0]?.id, all.items[1]?.id);
    const one = await search({ text: some.messageId });
    assert.equal(
      one.total,
      (await searchMessages(storage, audit, { text: some.messageId, limit: 99 }, now)).items.length,
    );
    assert.equal((await search({ since: new Date(0) })).total, null);
    assert.equal((await search({})).total, undefined, 'the list of all is no search');
  }));

test('the beginning of an address is looked up among those of a domain and of an organization', () =>
  withManyMessages(2_000, async ({ storage, find }) => {
    const db = storage.tables<MessagingTables>();
    const audit = { find: () => Promise.resolve([]) };
    const [last] = (await find({})).toSorted((one, other) => (one.to < other.to ? 1 : -1));
    assert.ok(last !== undefined);
    const now = new Date(last.acceptedAt.getTime() + 40 * 86_400_000);
    const domain = domainOf(last.to);
    const start = last.to.slice(0, 2);
    const search = (text: string, owned?: Owned) =>
      searchMessages(storage, audit, { text, limit: 200, ...(owned && { owned }) }, now);

    const all = await findAddressesBeginning(db, start);
    assert.deepEqual([all.addresses.length, all.hasMore], [10, true]);
    assert.ok(!all.addresses.includes(last.to));
    assert.ok((await search(start)).hasMoreAddresses);
    for (const text of [`${start} @${domain}`, `${start} ${domain}`, `${domain} ${start}`]) {
      const { items } = await search(text);
      assert.ok(
        items.some(({ id }) => id === last.id),
        text,
      );
      assert.ok(
        items.every(({ from, to }) => [from, to].some((one) => domainOf(one) === domain)),
        text,
      );
    }
    assert.deepEqual((await search(`nobodyofthisname ${domain}`)).items, []);

    const owned: Owned = {
      organizationId: 'some',
      organizations: new Set(['some']),
      domains: new Set(),
      clients: new Set([last.clientId]),
    };
    const messages = ['1', '2'].map((id) => ({
      id,
      sender: `${start}Zoe@other.example`,
      wire_id: id,
      sealed_message: new Uint8Array(),
      requests_final_delivery: 0,
      attachment_count: 0,
      size_bytes: 0,
      received_at: 1,
    }));
    await db.insertInto('inbox_message').values(messages).execute();
    const copies = messages.map(({ id }) => ({
      id,
      message_id: id,
      address: `${start}@own${id}.example`,
      address_key: `${start}@own${id}.example`,
      domain: `own${id}.example`,
      received_at: 1,
    }));
    await db
      .insertInto('inbox_copy')
      .values(copies as never)
      .execute();
    assert.deepEqual(
      await findAddressesBeginning(db, start, [], {
        ...owned,
        clients: new Set(),
        domains: new Set(['own2.example']),
      }),
      { addresses: [`${start}@own2.example`, `${start}zoe@other.example`], hasMore: false },
    );
    const own = await findAddressesBeginning(db, start, [], owned);
    assert.ok(own.addresses.length > 0);
    for (const address of own.addresses) assert.ok((await find({ address, owned })).length > 0, address);
    assert.deepEqual(
      (await findAddressesBeginning(db, start, [], { ...owned, clients: new Set(['other']) })).addresses,
      [],
    );
  }));

test('a name with a digit is no request id alone, and an id is looked for beside a request id', () =>
  withManyMessages(200, async ({ storage, find }) => {
    const [some] = await find({});
    assert.ok(some !== undefined);
    const now = new Date(some.acceptedAt.getTime() + 1000);
    const search = async (text: string, deliveryId?: string) => {
      const audit = {
        find: () => Promise.resolve(deliveryId === undefined ? [] : [{ objects: { deliveryId } } as never]),
      };
      const { items, terms } = await searchMessages(storage, audit, { text, limit: 200 }, now);
      return { ids: items.map(({ id }) => id), kinds: terms.map(({ kind }) => kind) };
    };
    await storage
      .tables<MessagingTables>()
      .updateTable('message_recipient')
      .set({ address: 'smith2026@a.example', address_key: 'smith2026@a.example' })
      .where('id', '=', some.id)
      .execute();
    assert.deepEqual(await search('smith2026'), { ids: [some.id], kinds: ['request-id', 'address-start'] });
    const uuid = some.messageId.replace('urn:uuid:', '');
    assert.deepEqual((await search(`${uuid.slice(0, 35)} request:req-5`)).ids, []);
    assert.deepEqual((await search(`${uuid.slice(0, 35)} request:req-5`, some.deliveryId)).ids, [some.id]);
  }));

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1);
