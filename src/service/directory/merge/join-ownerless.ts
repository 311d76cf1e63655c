import { setImmediate as nextTurn } from 'node:timers/promises';
import { entriesPerTurn } from '../limits.ts';
import { textOf } from '../records/record-line.ts';
import type { HashSeed } from '../store/provisioned.ts';
import type { SourceChain } from '../store/sources.ts';
import type { DirectoryDb } from '../store/state.ts';
import { claimOf, findOwner, type Claim } from './find-owner.ts';
import { forEachLive, linesOf, readLivePairs } from './live-entries.ts';
import type { PairTable } from './pair-table.ts';

export interface JoinRequest {
  readonly db: DirectoryDb;
  /** In order of precedence. */
  readonly sources: readonly SourceChain[];
  readonly seed: HashSeed;
  readonly pairs: PairTable;
  /** True if the address of the hash has records with and without an NPI, and rarely for another one. */
  readonly hasBoth: (low: number) => boolean;
  /** The sources whose values are shown, a bit for each rank. */
  readonly shownRanks: number;
  /** Records looked at in one pass. */
  readonly linesAtOnce: number;
}

/**
 * By the hash of an address with and without an NPI, when one of its shown records changed last: with any of
 * them it may change whose it is, and with that what the others show. Seconds since 1970.
 */
export type AddressTimes = ReadonlyMap<number, number>;

interface PairClaim extends Claim {
  readonly low: number;
  readonly high: number;
  /** Time of the record's last change: seconds since 1970. */
  readonly changedAt: number;
}

/**
 * Joins the pairs without NPI to those of their owners. What sources that are not shown say joins pairs, too,
 * so that a record has the id that it has in the whole merge.
 */
export async function joinOwnerless(request: JoinRequest): Promise<AddressTimes> {
  const { pairs, hasBoth, shownRanks, linesAtOnce } = request;
  const isShown = ({ rank }: Claim): boolean => (shownRanks & (1 << rank)) !== 0;
  const times = new Map<number, number>();
  let count = 0;
  pairs.forEachPair((low) => void (hasBoth(low) && count++));
  const partitions = Math.ceil(count / linesAtOnce);
  for (let partition = 0; partition < partitions; partition++) {
    const addresses = await readClaims(request, (low) => low % partitions === partition);
    let looked = 0;
    for (const claims of addresses.values()) {
      const shown = claims.filter(isShown);
      const owner = findOwner(claims) ?? findOwner(shown);
      if (owner !== undefined) joinPairs(pairs, claims, owner);
      const [first] = shown;
      if (first !== undefined && shown.some(({ npi }) => (npi === '') !== (first.npi === '')))
        times.set(
          first.low,
          shown.reduce((latest, { changedAt }) => Math.max(latest, changedAt), 0),
        );
      if (++looked % entriesPerTurn === 0) await nextTurn();
    }
  }
  return times;
}

function joinPairs(pairs: PairTable, claims: readonly PairClaim[], owner: string): void {
  const slotOf = (npi: string): number => {
    const { low, high } = claims.find((claim) => claim.npi === npi) as PairClaim;
    return pairs.find(low, high);
  };
  pairs.join(slotOf(''), slotOf(owner));
}

/** What all sources say of the addresses of one share. */
async function readClaims(
  { db, sources, seed, hasBoth }: JoinRequest,
  isOfShare: (low: number) => boolean,
): Promise<ReadonlyMap<string, readonly PairClaim[]>> {
  const addresses = new Map<string, PairClaim[]>();
  for (const [rank, { chain }] of sources.entries()) {
    for await (const block of readLivePairs(db, chain, seed)) {
      const wanted: { entry: number; low: number; high: number }[] = [];
      forEachLive(block, (low, high, _, entry) => {
        // Of the largest source not every pair is in the table; another owner there keeps all of them apart.
        if (hasBoth(low) && isOfShare(low)) wanted.push({ entry, low, high });
      });
      if (wanted.length === 0) continue;
      const lines = await linesOf(db, block);
      for (const [at, { entry, low, high }] of wanted.entries()) {
        if (at % entriesPerTurn === 0) await nextTurn();
        const line = lines[entry] ?? '';
        const claim = { ...claimOf(line, rank), low, high, changedAt: block.changed[entry] as number };
        const address = textOf(line, 'directAddress').toLowerCase();
        const others = addresses.get(address);
        if (others === undefined) addresses.set(address, [claim]);
        else others.push(claim);
      }
    }
  }
  return addresses;
}
