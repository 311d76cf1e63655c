import type { Kysely } from 'kysely';
import type { ClientIdentity } from '../../oauth/index.ts';
import { MessagingError } from '../errors.ts';
import { requireOwnSent } from '../inbox/require-own-row.ts';
import type { MessagingDependencies, RequestOrigin } from '../ports.ts';
import { rollUp, type MessageStatus } from '../status/find-status.ts';
import type { RecipientState } from '../status/states.ts';
import { sentContext, type MessagingTables } from '../tables.ts';

type Db = Kysely<MessagingTables>;

const keptBy = (db: Db, edgeAccount: string) =>
  db
    .selectFrom('sent_message as s')
    .innerJoin('message as m', 'm.id', 's.message_id')
    .where('s.edge_account', '=', edgeAccount);

/** The states of the messages that the edge account keeps, by their ids there. */
export async function listSentStates(
  { storage }: Pick<MessagingDependencies, 'storage'>,
  { edgeAccount }: ClientIdentity,
): Promise<ReadonlyMap<string, MessageStatus>> {
  if (edgeAccount === undefined) return new Map();
  const rows = await keptBy(storage.tables<MessagingTables>(), edgeAccount)
    .innerJoin('message_recipient as r', 'r.message_id', 'm.id')
    .select(['m.id', 'm.requests_final_delivery', 'r.state'])
    .execute();
  const states = new Map<string, { isFinal: boolean; all: RecipientState[] }>();
  for (const { id, requests_final_delivery, state } of rows) {
    const known = states.get(id);
    if (known === undefined) states.set(id, { isFinal: requests_final_delivery === 1, all: [state] });
    else known.all.push(state);
  }
  return new Map(
    [...states].map(([id, { isFinal, all }]) => [id, rollUp(all, isFinal ? 'final-delivery' : 'general')]),
  );
}

/** A message that the edge account keeps, as it went out. Throws MESSAGING_MESSAGE_NOT_FOUND. */
export async function readSent(
  { storage, contents, audit, alarmOfRow }: MessagingDependencies,
  client: ClientIdentity,
  sentId: string,
  origin: RequestOrigin,
): Promise<Buffer> {
  const row = await keptBy(storage.tables<MessagingTables>(), client.edgeAccount ?? '')
    .where('s.message_id', '=', sentId)
    .select(['s.sealed_message', 'm.wire_id'])
    .executeTakeFirst();
  if (row === undefined)
    throw new MessagingError('MESSAGING_MESSAGE_NOT_FOUND', 'the edge account keeps no message of that id');
  await audit.recordNow({
    action: 'message.fetch',
    actor: client.clientId,
    outcome: 'ok',
    objects: { messageId: row.wire_id },
    ...origin,
  });
  const message = await contents.open(row.sealed_message, sentContext(sentId));
  requireOwnSent(message, sentId, client, alarmOfRow);
  return message;
}

/** The id of the first message that the edge account keeps under that Message-ID. */
export async function findSent(
  { storage }: Pick<MessagingDependencies, 'storage'>,
  { edgeAccount = '' }: ClientIdentity,
  wireId: string,
): Promise<string | undefined> {
  const row = await keptBy(storage.tables<MessagingTables>(), edgeAccount)
    .where('m.wire_id', '=', wireId)
    .orderBy('m.wire_number')
    .select('m.id')
    .executeTakeFirst();
  return row?.id;
}
