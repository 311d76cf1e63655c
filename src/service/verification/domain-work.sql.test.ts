import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kysely } from 'kysely';
import type { Storage } from '../../platform/index.ts';
import { watchStatements } from '../../../test/support/statements.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createDomainWork } from './domain-work.ts';
import type { VerificationTables } from './tables.ts';

test('the addresses of a domain that the directory no longer has are deleted, a limited number per statement', async (t) => {
  const storage = await openTestStorage();
  t.after(() => storage.close());
  const { watched, take } = watchStatements(storage);
  const work = createDomainWork(watched);
  await work.list(new Set(['gone.example', 'kept.example']), '1', 1000);
  await storeAddresses(storage);
  take();
  await work.list(new Set(['kept.example']), '2', 1000);
  const deletes = take().filter(({ sql }) => sql.startsWith('delete from "verification_address"'));
  assert.equal(deletes.length, 3);
  const db = storage.tables<VerificationTables>();
  const left = await db.selectFrom('verification_address').select('address_key').execute();
  assert.deepEqual(left, [{ address_key: 'a0@kept.example' }]);
  const domains = await db.selectFrom('verification_domain').select('id').execute();
  assert.deepEqual(domains, [{ id: 'kept.example' }]);
});

test('what a listing does not finish deleting, the next one does', async (t) => {
  const storage = await openTestStorage();
  t.after(() => storage.close());
  const db = storage.tables<VerificationTables>();
  let deletes = 0;
  const failing = Object.create(storage, {
    tables: {
      value: () =>
        db.withPlugin({
          transformQuery({ node }) {
            if (node.kind === 'DeleteQueryNode' && ++deletes === 3) throw new Error('the node is stopped');
            return node;
          },
          transformResult: ({ result }) => Promise.resolve(result),
        }),
    },
  }) as Storage;
  const work = createDomainWork(failing);
  await work.list(new Set(['gone.example', 'kept.example']), '1', 1000);
  await storeAddresses(storage);
  await assert.rejects(work.list(new Set(['kept.example']), '2', 1000), /the node is stopped/);
  await work.list(new Set(['kept.example']), '2', 1000);
  const left = await db.selectFrom('verification_address').select('address_key').execute();
  assert.deepEqual(left, [{ address_key: 'a0@kept.example' }]);
});

/** One of kept.example, and 5000 of gone.example. */
function storeAddresses(storage: Storage): Promise<number> {
  return storage.transaction((tx: Kysely<VerificationTables>) =>
    storage.bulkInsert(tx, {
      table: 'verification_address',
      columns: ['address_key', 'domain', 'state', 'reason', 'checked_at', 'changed_at'],
      rows: Array.from({ length: 5001 }, (_, at) => {
        const domain = at === 0 ? 'kept.example' : 'gone.example';
        return [`a${at}@${domain}`, domain, 'trusted', '', 1, 1];
      }),
    }),
  );
}
