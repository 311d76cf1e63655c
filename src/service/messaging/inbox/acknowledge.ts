import type { Kysely } from 'kysely';
import { errorCode } from '../../../core/index.ts';
import { parseEntity, readHeaderOctets } from '../../../lib/mime/index.ts';
import type { DirectAddress } from '../../../lib/values/index.ts';
import type { ClientIdentity } from '../../oauth/index.ts';
import { getEntry } from './inbox-access.ts';
import { requireOwnRow } from './require-own-row.ts';
import type { MessagingDependencies, RequestOrigin } from '../ports.ts';
import { dispatchForOriginalsIn, markDispatchedIn } from '../inbound/forward-copies.ts';
import { enqueueMdn, toRemarks, type Original } from '../inbound/send-mdn-or-dsn.ts';
import { inboxContext, type MessagingTables } from '../tables.ts';

/**
 * The edge client has the message: the copy leaves the list, and the sender gets the dispatched MDN if it
 * asked for one (MDN-09, MDN-13) and has not got it when the copy was stored. Acknowledging again changes
 * nothing. Returns when it was acknowledged first.
 */
export async function acknowledge(
  deps: MessagingDependencies,
  client: Pick<ClientIdentity, 'clientId' | 'directAddresses'>,
  messageId: string,
  origin: RequestOrigin,
): Promise<Date> {
  const facts = await readFacts(deps, client, messageId);
  return deps.storage.transaction((tx: Kysely<MessagingTables>) =>
    acknowledgeIn(tx, deps, { client, messageId, facts, origin }),
  );
}

/** Messages of one transaction. */
const maxTogether = 100;

/**
 * The same for many, some of which may be gone, of addresses that the client has no longer, or in a changed
 * row: those are left out. In few transactions, since a client may mark a whole mailbox.
 */
export async function acknowledgeAll(
  deps: MessagingDependencies,
  client: Pick<ClientIdentity, 'clientId' | 'directAddresses'>,
  messageIds: readonly string[],
  origin: RequestOrigin,
): Promise<void> {
  // In one order, so that two clients that mark the same do not wait for each other.
  const ids = messageIds.toSorted();
  for (let at = 0; at < ids.length; at += maxTogether) {
    const batch: { readonly messageId: string; readonly facts: Facts }[] = [];
    for (const messageId of ids.slice(at, at + maxTogether)) {
      const facts = await orUndefined(() => readFacts(deps, client, messageId));
      if (facts !== undefined && facts !== 'acknowledged') batch.push({ messageId, facts });
    }
    if (batch.length > 0)
      await deps.storage.transaction(async (tx: Kysely<MessagingTables>) => {
        for (const one of batch) await orUndefined(() => acknowledgeIn(tx, deps, { client, ...one, origin }));
      });
  }
}

const leftOut: ReadonlySet<string> = new Set(['MESSAGING_MESSAGE_NOT_FOUND', 'MESSAGING_ROW_CHANGED']);

async function orUndefined<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!leftOut.has(errorCode(error))) throw error;
    return undefined;
  }
}

interface Acknowledgement {
  readonly client: Pick<ClientIdentity, 'clientId' | 'directAddresses'>;
  readonly messageId: string;
  readonly facts: Facts | 'acknowledged';
  readonly origin: RequestOrigin;
}

type Facts = Pick<Original, 'idOctets' | 'damage'>;

async function acknowledgeIn(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  { client, messageId, facts, origin }: Acknowledgement,
): Promise<Date> {
  const { copy, message } = await getEntry(tx, client, messageId);
  if (copy.acknowledged_at !== null) return new Date(copy.acknowledged_at);
  const now = deps.clock.now();
  const result = await tx
    .updateTable('inbox_copy')
    .set({ acknowledged_at: now.getTime() })
    .where('id', '=', copy.id)
    .where('acknowledged_at', 'is', null)
    .executeTakeFirst();
  if (result.numUpdatedRows === 0n) {
    // Another node was first, and has committed.
    const { copy: acknowledged } = await getEntry(tx, client, messageId);
    return new Date(acknowledged.acknowledged_at ?? now);
  }
  const original = {
    sender: message.sender as DirectAddress,
    wireId: message.wire_id === '' ? undefined : message.wire_id,
    idOctets: undefined,
    copyId: copy.id,
    ...(facts === 'acknowledged' ? {} : facts),
  };
  if (message.requests_final_delivery === 1) {
    await dispatchForOriginalsIn(tx, deps, copy, original);
    if (
      copy.forwarded_from === '' &&
      copy.dispatched_at === null &&
      (copy.delivered_to === '' || (await markDispatchedIn(tx, deps, copy.id)))
    )
      await enqueueMdn(tx, deps, copy.address as DirectAddress, original, 'dispatched');
  }
  await deps.audit.recordIn(tx, {
    action: 'message.acknowledge',
    actor: client.clientId,
    outcome: 'ok',
    objects: {
      copyId: copy.id,
      messageId: message.wire_id.slice(0, 255),
      from: message.sender,
      to: copy.address,
    },
    ...origin,
  });
  return now;
}

/**
 * What the dispatched MDN tells and only the content has: the octets of the Message-ID, and what is damaged.
 */
async function readFacts(
  { contents, storage, workerPool, alarmOfRow, vault }: MessagingDependencies,
  client: Pick<ClientIdentity, 'clientId' | 'directAddresses'>,
  messageId: string,
): Promise<Facts | 'acknowledged'> {
  const entry = await getEntry(storage.tables<MessagingTables>(), client, messageId);
  const { copy, message } = entry;
  if (copy.acknowledged_at !== null) return 'acknowledged';
  if (message.requests_final_delivery !== 1 || copy.dispatched_at !== null) return { idOctets: undefined };
  const inner = await contents.open(message.sealed_message, inboxContext(message.id));
  // The MDN goes out in the name of this address.
  requireOwnRow(inner, entry, { alarmOfRow, vault });
  const entity = parseEntity(inner);
  const damage = await workerPool.findDamage(inner, entity);
  return { idOctets: readHeaderOctets(entity, 'message-id'), damage: toRemarks(damage) };
}
