/**
 * Peers of the 2015 edition sign a message without its header, so whoever sees it on its way can send the
 * same signed part under another header to another recipient. What such a header may still decide is here
 * (VER-02, Decision 0016).
 */
import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { createGrowingCache } from '../../../core/index.ts';
import { addressKey, domainOf, type DirectAddress } from '../../../lib/values/index.ts';
import { perStorage } from '../per-storage.ts';
import type { MessagingDependencies, OpenedMail } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';
import { registeredAtIn, registerIn } from './register.ts';

/**
 * Why a recipient does not get a message: its sender wraps messages, or the signed part first came with other
 * recipients.
 */
export type HeaderFault = 'DIRECT_NOT_WRAPPED' | 'recipients-changed';

type Dependencies = Pick<MessagingDependencies, 'storage' | 'wrapping'>;

/**
 * Known of this process, so that not every message writes it. Housekeeping deletes the rows of the register,
 * thus the age.
 */
const wrappingDomains = perStorage(() => createGrowingCache<number>(20_000));
const rememberMs = 24 * 3_600_000;

/** Notes that the sender's domain wraps its messages. */
export async function noteWrappedIn(
  tx: Kysely<MessagingTables>,
  deps: Dependencies,
  opened: OpenedMail,
  receivedAt: Date,
): Promise<void> {
  const known = wrappingDomains(deps.storage);
  const domain = domainOf(opened.sender);
  const isKnown = receivedAt.getTime() - (known.get(domain) ?? 0) < rememberMs;
  if (opened.isWrapped !== true || isKnown) return;
  await registerIn(tx, deps, nameOf('wraps', domain), receivedAt);
  deps.storage.afterCommit(tx, () => known.set(domain, receivedAt.getTime()));
}

/**
 * Which of `recipients` must not get a message whose header is not signed. The first header under which the
 * signed part comes names who may; of two transactions at once the register lets one be the first.
 */
export async function findMisdirectedIn(
  tx: Kysely<MessagingTables>,
  deps: Dependencies,
  { opened, receivedAt }: { readonly opened: OpenedMail; readonly receivedAt: Date },
  recipients: readonly DirectAddress[],
): Promise<{ readonly fault: HeaderFault; readonly recipients: readonly DirectAddress[] } | undefined> {
  const { sender, unsignedHeader } = opened;
  if (unsignedHeader === undefined || recipients.length === 0) return undefined;
  const { part, named } = unsignedHeader;
  const domain = domainOf(sender);
  const isRequired =
    deps.wrapping.wrappedDomains.includes(domain) || (await wrapsAlwaysIn(tx, deps, domain, receivedAt));
  if (isRequired) return { fault: 'DIRECT_NOT_WRAPPED', recipients };
  await registerIn(tx, deps, nameOf('unwrapped', domain), receivedAt);
  // The domain is that of the certificate; which of its addresses sent it is as unsigned as the recipients.
  const signed = [domain, part];
  const nameFor = (address: DirectAddress): Uint8Array => nameOf('named', ...signed, addressKey(address));
  if (await registerIn(tx, deps, nameOf('part', ...signed), receivedAt)) {
    // In the order of the keys, as all that register several.
    for (const hash of named.map(nameFor).toSorted(Buffer.compare))
      await registerIn(tx, deps, hash, receivedAt);
    return undefined;
  }
  const others: DirectAddress[] = [];
  for (const address of recipients)
    if ((await registeredAtIn(tx, nameFor(address))) === undefined) others.push(address);
  return others.length === 0 ? undefined : { fault: 'recipients-changed', recipients: others };
}

/**
 * Long enough for all systems of a peer to show themselves, and for the tools of an accreditation, which send
 * both forms.
 */
const historyMs = 7 * 24 * 3_600_000;

/** True if the domain has sent wrapped messages for a while, and no other. */
async function wrapsAlwaysIn(
  tx: Kysely<MessagingTables>,
  { wrapping }: Dependencies,
  domain: string,
  now: Date,
): Promise<boolean> {
  if (wrapping.unwrappedDomains.includes(domain)) return false;
  const sinceMs = await registeredAtIn(tx, nameOf('wraps', domain));
  if (sinceMs === undefined || now.getTime() - sinceMs < historyMs) return false;
  return (await registeredAtIn(tx, nameOf('unwrapped', domain))) === undefined;
}

function nameOf(...parts: readonly string[]): Uint8Array {
  return createHash('sha256')
    .update(JSON.stringify(['header', ...parts]))
    .digest();
}
