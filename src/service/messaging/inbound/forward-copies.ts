import type { Kysely } from 'kysely';
import { errorCode } from '../../../core/index.ts';
import type { DirectAddress } from '../../../lib/values/index.ts';
import type { Vault } from '../../../platform/index.ts';
import type { Route } from '../../trust/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { InboxCopyRow, MessagingTables } from '../tables.ts';
import { enqueueMdn, type Original } from './send-mdn-or-dsn.ts';

/**
 * What was delivered to other addresses than those it was sent to (Decision 0036). The address that it was
 * sent to has a copy that names them in `delivered_to`; theirs name it in `forwarded_from`, under a MAC,
 * since their content does not name them as recipients.
 */

/** The columns of a copy that nobody was forwarded. */
export const notForwarded = { delivered_to: '', forwarded_from: '', forward_mac: null } as const;

type ForwardedCopy = Pick<InboxCopyRow, 'id' | 'message_id' | 'address_key' | 'forwarded_from'>;

const macText = ({ message_id, address_key, forwarded_from }: ForwardedCopy): Buffer =>
  Buffer.from(JSON.stringify([message_id, address_key, forwarded_from]));
const macContext = ({ id }: ForwardedCopy): string => `forwarded-copy:${id}`;

export function forwardMac(vault: Vault, copy: ForwardedCopy): Uint8Array {
  return vault.mac(macText(copy), macContext(copy));
}

/** To whom a copy was sent that was forwarded, lower-cased; undefined if the row was not written here. */
export function readForwardedFrom(
  vault: Vault,
  copy: ForwardedCopy & Pick<InboxCopyRow, 'forward_mac'>,
): readonly string[] | undefined {
  if (copy.forwarded_from === '' || copy.forward_mac === null) return undefined;
  try {
    vault.requireMac(copy.forward_mac, macText(copy), macContext(copy));
  } catch (error) {
    if (errorCode(error) !== 'PLATFORM_MAC_INVALID') throw error;
    return undefined;
  }
  return copy.forwarded_from.split(' ');
}

/** In an audit row. */
export function describeRoute({ deliverTo, notDelivered }: Route): Readonly<Record<string, string>> {
  return {
    ...(deliverTo.length > 0 && { deliveredTo: deliverTo.join(' ') }),
    ...(notDelivered.length > 0 && {
      notDelivered: notDelivered.map(({ address, reason }) => `${address} ${reason}`).join(', '),
    }),
  };
}

/**
 * Whoever gets a message in place of the address that it was sent to has it: the dispatched MDN of that
 * address goes out, once, whoever is first.
 */
export async function dispatchForOriginalsIn(
  tx: Kysely<MessagingTables>,
  deps: MessagingDependencies,
  copy: Pick<InboxCopyRow, 'message_id' | 'address_key'>,
  original: Original,
): Promise<void> {
  const originals = await tx
    .selectFrom('inbox_copy')
    .select(['id', 'address', 'delivered_to'])
    .where('message_id', '=', copy.message_id)
    .where('delivered_to', '<>', '')
    .where('dispatched_at', 'is', null)
    .execute();
  for (const { id, address } of originals.filter((one) =>
    one.delivered_to.split(' ').includes(copy.address_key),
  )) {
    const marked = await tx
      .updateTable('inbox_copy')
      .set({ dispatched_at: deps.clock.now().getTime() })
      .where('id', '=', id)
      .where('dispatched_at', 'is', null)
      .executeTakeFirst();
    if (marked.numUpdatedRows > 0n)
      await enqueueMdn(tx, deps, address as DirectAddress, { ...original, copyId: id }, 'dispatched');
  }
}
