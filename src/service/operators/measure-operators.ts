import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import { isSubjectOf } from './operator.ts';
import type { OperatorTables } from './tables.ts';

/** Counts of the operators' ways to sign in, for lists; the MACs of the rows are not verified. */
export interface OperatorCounts {
  /**
   * Active ones with the role `operator` who have a passkey, sign in by a provider, are signed in, or have a
   * link that is still good.
   */
  readonly ableOperators: number;
  /**
   * Names of active ones who have no way in left: no passkey, no provider, no session, and no link that is
   * still good.
   */
  readonly shutOut: readonly string[];
}

/** `openIdIssuer`: of the provider that is set. */
export async function measureOperators(
  storage: Storage,
  clock: Pick<Clock, 'now'>,
  openIdIssuer: string | undefined,
): Promise<OperatorCounts> {
  const db = storage.tables<OperatorTables>();
  const nowMs = clock.now().getTime();
  const [operators, passkeys, links, sessions] = await Promise.all([
    db
      .selectFrom('console_operator')
      .select(['id', 'name', 'role', 'subject'])
      .where('disabled_at', 'is', null)
      .orderBy('name')
      .execute(),
    db.selectFrom('console_passkey').select('operator_id').distinct().execute(),
    db
      .selectFrom('console_link')
      .select('operator_id')
      .distinct()
      .where('used_at', 'is', null)
      .where('expires_at', '>', nowMs)
      .execute(),
    db
      .selectFrom('console_session')
      .select('operator_id')
      .distinct()
      .where('expires_at', '>', nowMs)
      .execute(),
  ]);
  const able = new Set([...passkeys, ...links, ...sessions].map(({ operator_id: id }) => id));
  const isAble = ({ id, subject }: (typeof operators)[number]): boolean =>
    able.has(id) || (subject !== null && isSubjectOf(subject, openIdIssuer));
  return {
    ableOperators: operators.filter((one) => one.role === 'operator' && isAble(one)).length,
    shutOut: operators.filter((one) => !isAble(one)).map(({ name }) => name),
  };
}
