import type { Clock } from '../../core/index.ts';
import { OperatorsError } from './errors.ts';
import type { OperatorIdentity } from './operator.ts';
import type { SignInMethod } from './tables.ts';

/** A signed-in operator. */
export interface SignedInOperator {
  readonly operator: OperatorIdentity;
  /** This and the method: undefined for a bearer token. */
  readonly sessionId: string | undefined;
  readonly method: SignInMethod | undefined;
  readonly startedAt: Date;
}

/** Age of the sign-in up to which somebody may be given a way in. */
const freshMs = 300_000;

/**
 * Throws OPERATORS_SIGN_IN_STALE unless the session began by one of these methods within the last five
 * minutes: neither an unattended browser nor a stolen cookie or token can make a lasting way in.
 */
export function requireFreshSignIn(
  { method, startedAt }: SignedInOperator,
  clock: Clock,
  methods: readonly SignInMethod[] = ['passkey', 'link', 'oidc'],
): void {
  if (
    method !== undefined &&
    methods.includes(method) &&
    clock.now().getTime() - startedAt.getTime() <= freshMs
  )
    return;
  throw new OperatorsError('OPERATORS_SIGN_IN_STALE', 'the session did not just begin');
}
