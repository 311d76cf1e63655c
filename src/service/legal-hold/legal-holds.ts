import type { Kysely } from 'kysely';
import { createTimedUuid, errorCode, hasHidden, type Clock } from '../../core/index.ts';
import type { AnyTransaction, Storage } from '../../platform/index.ts';
import { addressKey, parseDirectAddress } from '../../lib/values/index.ts';
import { LegalHoldError } from './errors.ts';
import { lockLegalHolds } from './rule.ts';
import type { LegalHoldKind, LegalHoldRow, LegalHoldTables } from './tables.ts';

export interface LegalHold {
  readonly id: string;
  readonly kind: LegalHoldKind;
  readonly subject: string;
  readonly reason: string;
  readonly author: string;
  readonly since: Date;
  readonly released: { readonly at: Date; readonly by: string; readonly reason: string } | undefined;
}

export interface NewLegalHold {
  readonly kind: LegalHoldKind;
  /** A Message-ID with angle brackets, a Direct address of any HISP, or the id of an organization. */
  readonly subject: string;
  readonly reason: string;
}

/** What is written to the audit trail in the transaction of a change. */
export interface HoldRecord {
  readonly action: 'legal-hold.add' | 'legal-hold.release';
  readonly objects: Readonly<Record<string, string>>;
}

export interface LegalHoldDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  /** Who acts, as the audit trail names people. */
  readonly author: string;
  recordIn(tx: AnyTransaction, record: HoldRecord): Promise<void>;
}

/** Legal holds: what retention must not delete, from when, by whom and why. */
export interface LegalHolds {
  /** In force when the promise is fulfilled. Throws LEGAL_HOLD_INVALID, LEGAL_HOLD_EXISTS. */
  add(hold: NewLegalHold): Promise<LegalHold>;
  /** Oldest first. `withReleased`: those that ended, too. */
  list(options?: { readonly withReleased?: boolean }): Promise<readonly LegalHold[]>;
  /** Throws LEGAL_HOLD_UNKNOWN, also for one that was released before, and LEGAL_HOLD_INVALID. */
  release(id: string, reason: string): Promise<LegalHold>;
}

const maxReason = 500;
const maxSubject = 998;

export function createLegalHolds(deps: LegalHoldDependencies): LegalHolds {
  const { storage, clock, author } = deps;
  return {
    async add({ kind, ...hold }) {
      const subject = readSubject(kind, hold.subject);
      const reason = readReason(hold.reason);
      const at = clock.now();
      const row: LegalHoldRow = {
        id: createTimedUuid(at),
        kind,
        subject,
        reason,
        author,
        created_at: at.getTime(),
        released_at: null,
        released_by: null,
        release_reason: null,
      };
      try {
        await storage.transaction(async (tx: Kysely<LegalHoldTables>) => {
          await lockLegalHolds(storage, tx);
          if (kind === 'organization') await requireOrganization(tx, subject);
          await tx.insertInto('legal_hold').values(row).execute();
          const objects = { holdId: row.id, [objectNames[kind]]: subject, reason };
          await deps.recordIn(tx, { action: 'legal-hold.add', objects });
        });
      } catch (error) {
        if (errorCode(error) !== 'PLATFORM_STORAGE_DUPLICATE') throw error;
        throw new LegalHoldError('LEGAL_HOLD_EXISTS', `${subject} is on legal hold already.`);
      }
      return toHold(row);
    },
    list: ({ withReleased = false } = {}) => listLegalHolds(storage, withReleased),
    async release(id, text) {
      const reason = readReason(text);
      return storage.transaction(async (tx: Kysely<LegalHoldTables>) => {
        const row = await tx
          .updateTable('legal_hold')
          .set({ released_at: clock.now().getTime(), released_by: author, release_reason: reason })
          .where('id', '=', id)
          .where('released_at', 'is', null)
          .returningAll()
          .executeTakeFirst();
        if (row === undefined)
          throw new LegalHoldError(
            'LEGAL_HOLD_UNKNOWN',
            `No legal hold in force has the id ${id}. List them: openhisp legal-hold list.`,
          );
        const objects = {
          holdId: id,
          [objectNames[row.kind]]: row.subject,
          reason,
        };
        await deps.recordIn(tx, { action: 'legal-hold.release', objects });
        return toHold(row);
      });
    },
  };
}

async function listLegalHolds(storage: Storage, withReleased: boolean): Promise<readonly LegalHold[]> {
  const rows = await storage
    .tables<LegalHoldTables>()
    .selectFrom('legal_hold')
    .selectAll()
    .$if(!withReleased, (query) => query.where('released_at', 'is', null))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(toHold);
}

/**
 * The holds in force on a message, on one of the addresses or their organizations, or on an organization;
 * oldest first.
 */
export async function findHoldsOn(
  storage: Storage,
  {
    wireId,
    addresses = [],
    organization,
  }: {
    readonly wireId?: string;
    readonly addresses?: readonly string[];
    readonly organization?: string;
  },
): Promise<readonly LegalHold[]> {
  const held = new Set(addresses.map((address) => address.toLowerCase()));
  const holds = await listLegalHolds(storage, false);
  const owners = holds.some(({ kind }) => kind === 'organization')
    ? await findOwners(storage, [...held])
    : new Set<string>();
  const keeps = {
    message: (subject: string) => subject === wireId,
    address: (subject: string) => held.has(subject),
    organization: (subject: string) => subject === organization || owners.has(subject),
  };
  return holds.filter(({ kind, subject }) => keeps[kind](subject));
}

/** The organizations of the domains of addresses, which are in lower case. */
async function findOwners(storage: Storage, addresses: readonly string[]): Promise<ReadonlySet<string>> {
  const domains = [...new Set(addresses.map((one) => one.slice(one.lastIndexOf('@') + 1)))];
  const owners = new Set<string>();
  for (const table of ['hosted_domain', 'removed_domain'] as const) {
    const rows = await storage
      .tables<LegalHoldTables>()
      .selectFrom(table)
      .select('organization_id')
      .where((eb) => storage.isOneOf(eb.ref('domain'), domains))
      .execute();
    for (const row of rows) owners.add(row.organization_id);
  }
  return owners;
}

/** Of the subject of a hold, in the audit trail. */
const objectNames = {
  message: 'messageId',
  address: 'address',
  organization: 'organization',
} as const satisfies Record<LegalHoldKind, string>;

/** The operator's own, which has a row only if a setting of it is stored. */
const builtInOrganization = 'operator';

async function requireOrganization(tx: Kysely<LegalHoldTables>, id: string): Promise<void> {
  const found = await tx.selectFrom('organization').select('id').where('id', '=', id).executeTakeFirst();
  if (found === undefined && id !== builtInOrganization)
    throw invalid('organization', 'no organization has this id. List them: openhisp organization list.');
}

function readSubject(kind: LegalHoldKind, text: string): string {
  if (kind === 'address') return readAddress(text);
  return kind === 'message' ? readMessageId(text) : text;
}

function toHold(row: LegalHoldRow): LegalHold {
  const { id, kind, subject, reason, author, created_at, released_at, released_by, release_reason } = row;
  const released =
    released_at === null
      ? undefined
      : { at: new Date(Number(released_at)), by: released_by ?? '', reason: release_reason ?? '' };
  return { id, kind, subject, reason, author, since: new Date(Number(created_at)), released };
}

function readAddress(text: string): string {
  try {
    return addressKey(parseDirectAddress(text));
  } catch {
    throw invalid('address', 'not a Direct address (local@domain).');
  }
}

function readMessageId(text: string): string {
  if (/^<[^<>]+>$/.test(text) && text.length <= maxSubject && !hasHidden(text)) return text;
  throw invalid(
    'messageId',
    'the message has no Message-ID by which it could be held; put its sender or recipient on legal hold.',
  );
}

function readReason(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= maxReason && !hasHidden(reason)) return reason;
  throw invalid('reason', `one line of 1 to ${maxReason} visible characters.`);
}

function invalid(field: string, detail: string): LegalHoldError {
  return new LegalHoldError('LEGAL_HOLD_INVALID', `${field}: ${detail}`, {
    problems: [{ field, reason: 'invalid', detail }],
  });
}
