import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase, isPostgres } from '../../../../test/support/storage.ts';
import { migrations } from './index.ts';

interface Tables {
  message_recipient: { id: string; sender_key: string; client_id: string };
}

test('0085: recipients that are searched get their sender at once; on PostgreSQL the others wait for housekeeping', async () => {
  const database = await createTestDatabase();
  const at = migrations.findIndex(({ name }) => name === '0085-failed-search');
  const older = await database.open({ migrations: migrations.slice(0, at) });
  await older.migrate();
  await older.close();
  await database.runRaw(`
    insert into message (id, client_id, uuid, wire_id, sender, sender_key, request_hash, response, is_xdm, is_asm_enabled,
      requests_final_delivery, created_at) values ('m', 'clinic', 'u', 'w', 'A@own.example', 'a@own.example', '', '', 0, 0, 0, 1);
    insert into message_recipient (id, message_id, position, address, address_key, state, has_dispatched_notice, reason, status_code,
      status_at, event_count, created_at) values
      ${['queued', 'sent', 'processed', 'failed', 'expired']
        .map(
          (state, position) =>
            `('${state}', 'm', ${position}, 'x', '${state}', '${state}', 0, '', '', 1, 1, 1)`,
        )
        .join()}`);
  const newer = await database.open();
  await newer.migrate();
  const rows = await newer
    .tables<Tables>()
    .selectFrom('message_recipient')
    .select(['id', 'sender_key', 'client_id'])
    .execute();
  const complete = rows.filter((row) => row.sender_key === 'a@own.example' && row.client_id === 'clinic');
  assert.deepEqual(complete.map(({ id }) => id).toSorted(), [
    'expired',
    'failed',
    ...(isPostgres ? [] : ['processed']),
    'queued',
    'sent',
  ]);
  await newer.close();
});
