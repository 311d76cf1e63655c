import { createGrowingCache, createTokenBuckets, networkOf } from '../../../core/index.ts';
import { prepareInsert, type AnyTransaction } from '../../../platform/index.ts';
import type { PathCertificate } from '../../agent/index.ts';
import { perStorage } from '../per-storage.ts';
import type { MessagingDependencies } from '../ports.ts';
import type { MessagingTables } from '../tables.ts';

/** `used_at` of a certificate in use is written again after this long. */
export const certificateUseMs = 86_400_000;
const maxKnownCertificates = 10_000;

const upsertCertificateOf = perStorage((storage) =>
  prepareInsert<MessagingTables, 'path_certificate'>(storage, 'path_certificate', (insert) =>
    insert.onConflict((conflict) =>
      conflict.column('fingerprint').doUpdateSet((eb) => ({ used_at: eb.ref('excluded.used_at') })),
    ),
  ),
);

/** Times at which recently used certificates were last written, by fingerprint. */
const writtenOf = perStorage(() => createGrowingCache<number>(maxKnownCertificates));

/** New certificates of strangers that mail from one network can have kept: a burst, then a trickle. */
const strangersOf = perStorage(({ clock }) =>
  createTokenBuckets({ ratePerSecond: 1 / 60, burst: 20, clock }),
);
/** The same for all networks together: about 120 MB a day. */
const allStrangersOf = perStorage(({ clock }) =>
  createTokenBuckets({ ratePerSecond: 1 / 6, burst: 1000, clock }),
);

/**
 * False where a network, or all of them together, have shown too many new certificates that lead to no anchor
 * of ours.
 */
export function mayKeepStrangers(
  { storage }: Pick<MessagingDependencies, 'storage'>,
  certificates: readonly PathCertificate[],
  remoteAddress: string | undefined,
): boolean {
  const written = writtenOf(storage);
  const areNew = certificates.some(({ fingerprint }) => written.get(fingerprint) === undefined);
  if (!areNew) return true;
  const network = networkOf(remoteAddress ?? '', { ipv4Bits: 24 });
  return strangersOf(storage).take(network).allowed && allStrangersOf(storage).take('all').allowed;
}

/**
 * Keeps certificates of validated paths, each once, in the transaction of the MDN or attempt that showed
 * them.
 */
export function keepCertificates(
  tx: AnyTransaction,
  { storage }: Pick<MessagingDependencies, 'storage'>,
  certificates: readonly PathCertificate[],
  at: Date,
): void {
  const nowMs = at.getTime();
  const written = writtenOf(storage);
  const due = new Map(
    certificates
      .filter(({ fingerprint }) => {
        const writtenMs = written.get(fingerprint);
        return writtenMs === undefined || Math.abs(nowMs - writtenMs) >= certificateUseMs;
      })
      .map(({ fingerprint, der }) => [fingerprint, der]),
  );
  if (due.size === 0) return;
  // In one order, so that two nodes that write the same certificates do not wait for each other.
  for (const [fingerprint, der] of [...due].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    upsertCertificateOf(storage).queue(tx, [{ fingerprint, der, used_at: nowMs }]);
  storage.afterCommit(tx, () => {
    for (const fingerprint of due.keys()) written.set(fingerprint, nowMs);
  });
}
