import type { ClientIdentity } from '../../oauth/index.ts';
import { recipientStatesOf, type RecipientState } from '../../../lib/recipient-states/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import { isFailureReason } from '../reasons.ts';
import type { MessagingTables } from '../tables.ts';
import { textOfState } from './state-text.ts';

/** The outcome of one recipient of a message that an edge account sent. */
export interface Outcome {
  readonly recipientId: string;
  /** The API's name of the message without `urn:uuid:`. */
  readonly messageUuid: string;
  /** The recipient's place in the message, from 0. */
  readonly position: number;
  /** The Message-ID field. */
  readonly wireId: string;
  readonly sender: string;
  readonly address: string;
  readonly state: RecipientState;
  readonly isDelivered: boolean;
  readonly statusCode: string;
  /** A sentence for people. */
  readonly text: string;
  readonly at: Date;
}

export interface OutcomeQuery {
  /** Only of messages that were accepted before: a client may not know the id of a later one yet. */
  readonly acceptedBefore: Date;
  /** Only of messages that the account sent by one of these protocols. */
  readonly sentBy: readonly string[];
  readonly limit: number;
}

/**
 * What an edge account sent whose outcome is known and was not told, oldest first. A message is told of once:
 * of one that asked for the final delivery when it is dispatched, of any other when it is processed; of both
 * when it has failed (ETT 521 to 529). Who tells it depends on `sentBy` (Decision 0032).
 */
export async function listOutcomes(
  { storage }: Pick<MessagingDependencies, 'storage'>,
  { clientId, edgeAccount }: ClientIdentity,
  { acceptedBefore, sentBy, limit }: OutcomeQuery,
): Promise<readonly Outcome[]> {
  if (edgeAccount === undefined || sentBy.length === 0) return [];
  const rows = await selectOutcomes(storage, clientId, edgeAccount)
    .where('r.edge_told_at', 'is', null)
    .where('r.created_at', '<=', acceptedBefore.getTime())
    .where('r.edge_protocol', 'in', sentBy)
    .where((eb) =>
      eb.or([
        eb('r.state', 'in', ['dispatched', ...failed]),
        eb.and([eb('r.state', '=', 'processed'), eb('m.requests_final_delivery', '=', 0)]),
      ]),
    )
    .orderBy('r.created_at')
    .orderBy('r.id')
    .limit(limit)
    .execute();
  return rows.map(toOutcome);
}

/** One outcome again, told or not; undefined if the account did not send it, or it is gone. */
export async function findOutcome(
  { storage }: Pick<MessagingDependencies, 'storage'>,
  { clientId, edgeAccount = '' }: ClientIdentity,
  recipientId: string,
): Promise<Outcome | undefined> {
  const row = await selectOutcomes(storage, clientId, edgeAccount)
    .where('r.id', '=', recipientId)
    .executeTakeFirst();
  return row && toOutcome(row);
}

const failed = recipientStatesOf('failed');

function selectOutcomes(storage: MessagingDependencies['storage'], clientId: string, edgeAccount: string) {
  return storage
    .tables<MessagingTables>()
    .selectFrom('message_recipient as r')
    .innerJoin('message as m', 'm.id', 'r.message_id')
    .where('r.edge_account', '=', edgeAccount)
    .where('m.client_id', '=', clientId)
    .select([
      'r.id',
      'r.position',
      'r.address',
      'r.state',
      'r.reason',
      'r.status_code',
      'r.status_at',
      'm.uuid',
      'm.wire_id',
      'm.sender',
    ]);
}

type OutcomeRow = Awaited<ReturnType<ReturnType<typeof selectOutcomes>['execute']>>[number];

function toOutcome(row: OutcomeRow): Outcome {
  return {
    recipientId: row.id,
    messageUuid: row.uuid,
    position: row.position,
    wireId: row.wire_id,
    sender: row.sender,
    address: row.address,
    state: row.state,
    isDelivered: !failed.includes(row.state),
    statusCode: row.status_code,
    text: textOfState(row.state, isFailureReason(row.reason) ? row.reason : 'internal').text,
    at: new Date(row.status_at),
  };
}

/** The account has it: no edge tells it again. */
export async function noteTold(
  { storage, clock }: Pick<MessagingDependencies, 'storage' | 'clock'>,
  { edgeAccount = '' }: ClientIdentity,
  recipientId: string,
): Promise<void> {
  await storage
    .tables<MessagingTables>()
    .updateTable('message_recipient')
    .set({ edge_told_at: clock.now().getTime() })
    .where('id', '=', recipientId)
    .where('edge_account', '=', edgeAccount)
    .execute();
}
