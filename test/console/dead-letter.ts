import path from 'node:path';
import { testDatabaseAt } from '../support/storage.ts';
import { secretWords, until, type ConsoleWorld } from './console-world.ts';
import { openHostilePeer } from './hostile-peer.ts';

/** Mail that was taken and could not be stored, because the database failed. Returns its sender. */
export async function makeDeadLetter({ sandbox }: ConsoleWorld): Promise<string> {
  const peer = await openHostilePeer(sandbox, {
    domain: 'direct.dead.example',
    mailAddress: '127.0.0.78',
  });
  const database = testDatabaseAt({ file: path.join(sandbox.dataDir, 'openhisp.db') });
  await database.runRaw('alter table inbox_message rename to inbox_message_away');
  await peer.send(
    `${peer.header('<dead@direct.dead.example>')}Subject: ${secretWords[2]}\r\nContent-Type: text/plain\r\n\r\n${secretWords[1]}\r\n`,
  );
  const { storage } = sandbox.world.hisp;
  const mails = storage.tables<{
    inbound_mail: { mail_from: string; state: string; lease_token: string | null };
  }>();
  await until(
    async () =>
      mails
        .selectFrom('inbound_mail')
        .selectAll()
        .where('mail_from', '=', peer.address)
        .where('lease_token', 'is', null)
        .execute(),
    (rows) => rows.length === 1,
    'the mail waits',
  );
  // Nine attempts would take half a day.
  await mails
    .updateTable('inbound_mail')
    .set({ state: 'dead-letter' })
    .where('mail_from', '=', peer.address)
    .execute();
  await database.runRaw('alter table inbox_message_away rename to inbox_message');
  return peer.address;
}
