import type { Kysely } from 'kysely';
import { errorCode } from '../../../core/index.ts';
import { addressKey, type DirectAddress } from '../../../lib/values/index.ts';
import type { Vault } from '../../../platform/index.ts';
import type { Route } from '../../trust/index.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { InboxCopyRow, MessagingTables } from '../tables.ts';
import { enqueueMdn, type Original } from './send-mdn-or-dsn.ts';

/**
 * What was delivered to other addresses than those it was sent to (Decision 0036). The address that it was
 * sent to has a copy that names them in `delivered_to`; theirs name it in `forwarded_from`. Both are under a
 * MAC: the content does not name them as recipients, and who acknowledges the one answers in the name of the
 * other.
 */

type ForwardedCopy = Pick<
  InboxCopyRow,
  'id' | 'message_id' | 'address_key' | 'delivered_to' | 'forwarded_from'
>;

const macText = ({ message_id, address_key, delivered_to, forwarded_from }: ForwardedCopy): Buffer =>
  Buffer.from(JSON.stringify([message_id, address_key, delivered_to, forwarded_from]));
const macContext = ({ id }: ForwardedCopy): string => `forwarded-copy:${id}`;

/** Null for a copy that neither came for another address nor was delivered to one. */
export function forwardMac(vault: Vault, copy: ForwardedCopy): Uint8Array | null {
  if (copy.delivered_to === '' && copy.forwarded_from === '') return null;
  return vault.mac(macText(copy), macContext(copy));
}

/** Whether this service wrote for whom the copy came and who else has it. */
function isForwardedHere(vault: Vault, copy: ForwardedCopy & Pick<InboxCopyRow, 'forward_mac'>): boolean {
  if (copy.forward_mac === null) return false;
  try {
    vault.requireMac(copy.forward_mac, macText(copy), macContext(copy));
  } catch (error) {
    if (errorCode(error) !== 'PLATFORM_MAC_INVALID') throw error;
    return false;
  }
  return true;
}

/** To whom a copy was sent that was forwarded, lower-cased; undefined if the row was not written here. */
export function readForwardedFrom(
  vault: Vault,
  copy: ForwardedCopy & Pick<InboxCopyRow, 'forward_mac'>,
): readonly string[] | undefined {
  return copy.forwarded_from !== '' && isForwardedHere(vault, copy)
    ? copy.forwarded_from.split(' ')
    : undefined;
}

/** Of those who did not get it, in an audit row; of more the number. */
const shownAddresses = 20;

/** In an audit row. */
export function describeRoute({ deliverTo, notDelivered }: Route): Readonly<Record<string, string>> {
  return {
    ...(deliverTo.length > 0 && { deliveredTo: deliverTo.join(' ') }),
    ...(notDelivered.length > 0 && {
      notDelivered: [
        ...notDelivered.slice(0, shownAddresses).map(({ address, reason }) => `${address} ${reason}`),
        ...(notDelivered.length > shownAddresses ? [`${notDelivered.length - shownAddresses} more`] : []),
      ].join(', '),
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
    .selectAll()
    .where('message_id', '=', copy.message_id)
    .where('delivered_to', '<>', '')
    .where('dispatched_at', 'is', null)
    .execute();
  for (const one of originals.filter((row) => row.delivered_to.split(' ').includes(copy.address_key))) {
    const { id, address } = one;
    if (!isForwardedHere(deps.vault, one) || addressKey(address as DirectAddress) !== one.address_key)
      deps.alarmOfRow({ table: 'inbox_copy', row: id });
    else if (await markDispatchedIn(tx, deps, id))
      await enqueueMdn(tx, deps, address as DirectAddress, { ...original, copyId: id }, 'dispatched');
  }
}

/** True for one of those who have it, whoever is first. */
export async function markDispatchedIn(
  tx: Kysely<MessagingTables>,
  { clock }: Pick<MessagingDependencies, 'clock'>,
  copyId: string,
): Promise<boolean> {
  const marked = await tx
    .updateTable('inbox_copy')
    .set({ dispatched_at: clock.now().getTime() })
    .where('id', '=', copyId)
    .where('dispatched_at', 'is', null)
    .executeTakeFirst();
  return marked.numUpdatedRows > 0n;
}
