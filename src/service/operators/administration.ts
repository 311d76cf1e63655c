import { OperatorsError } from './errors.ts';
import { requireFreshSignIn, type SignedInOperator } from './fresh-sign-in.ts';
import { createLinks, type IssuedLink } from './links.ts';
import { createOperatorStore } from './operator-store.ts';
import type { Operator, OperatorEntry, OperatorParts } from './operator.ts';
import type { PasskeyEntry } from './passkey-registration.ts';
import { removePasskey, type Passkeys } from './passkeys.ts';
import type { Role } from './roles.ts';
import type { SessionEntry, Sessions } from './sessions.ts';
import { createOperatorTokens, type TokenEntry } from './tokens.ts';

/** An operator with all that lets them in. */
export interface OperatorDetails {
  readonly operator: OperatorEntry;
  readonly sessions: readonly SessionEntry[];
  readonly tokens: readonly TokenEntry[];
  readonly passkeys: readonly PasskeyEntry[];
}

/**
 * What one operator may do with the others. All but `list` and `create` throw OPERATORS_UNKNOWN. What gives
 * access (`create`, `link`, `setRole`, `enable`) throws OPERATORS_SIGN_IN_STALE unless the caller signed in
 * within the last five minutes; a bearer token never gives access. Callers change neither their own role nor
 * their own access (OPERATORS_SELF), so that one who can administer stays. Every change is audited.
 */
export interface OperatorAdministration {
  /** By name. */
  list(): Promise<readonly OperatorEntry[]>;
  show(name: string): Promise<OperatorDetails>;
  /** With the link by which they register a passkey. Throws as `create` of OperatorStore. */
  create(
    name: string,
    role: Role,
    organizationId?: string,
  ): Promise<{ readonly operator: Operator; readonly link: IssuedLink }>;
  /** A new enrollment link. Throws OPERATORS_EXTERNAL. */
  link(name: string): Promise<IssuedLink>;
  /** Throws OPERATORS_EXTERNAL. */
  setRole(name: string, role: Role): Promise<Operator>;
  enable(name: string): Promise<Operator>;
  disable(name: string): Promise<Operator>;
  /** Throws OPERATORS_SESSION_UNKNOWN. */
  endSession(name: string, sessionId: string): Promise<void>;
  /** Returns how many there were. */
  endSessions(name: string): Promise<number>;
  /** Throws OPERATORS_TOKEN_UNKNOWN. */
  revokeToken(name: string, tokenId: string): Promise<void>;
  /** Ends the sessions that began with it. Throws OPERATORS_PASSKEY_UNKNOWN. */
  removePasskey(name: string, passkeyId: string): Promise<void>;
}

export function createAdministration(
  {
    sessions,
    passkeys,
    ...others
  }: OperatorParts & { readonly sessions: Sessions; readonly passkeys: Pick<Passkeys, 'list'> },
  caller: SignedInOperator,
): OperatorAdministration {
  const { actor } = caller.operator;
  const parts = { ...others, audit: others.audit.as(actor) };
  const store = createOperatorStore(parts);
  const links = createLinks(parts);
  const tokens = createOperatorTokens(parts);

  const requireFresh = (): void => requireFreshSignIn(caller, parts.clock);
  async function requireOther(name: string): Promise<void> {
    if ((await store.get(name)).id !== caller.operator.id) return;
    throw new OperatorsError('OPERATORS_SELF', 'the operator is the caller');
  }
  async function enroll({ id, name }: Operator): Promise<IssuedLink> {
    return links.create(id, name, 'enrol');
  }

  return {
    list: store.list,
    async show(name) {
      const found = await store.get(name);
      const [open, valid, keys] = await Promise.all([
        sessions.list(found.id),
        tokens.list(found.id),
        passkeys.list(found.id),
      ]);
      const operator = { ...found, passkeys: keys.length, sessions: open.length };
      return { operator, sessions: open, tokens: valid, passkeys: keys };
    },
    async create(name, role, organizationId) {
      requireFresh();
      const operator = await store.create(name, role, organizationId);
      return { operator, link: await enroll(operator) };
    },
    async link(name) {
      await requireOther(name);
      requireFresh();
      return enroll(await store.get(name));
    },
    async setRole(name, role) {
      await requireOther(name);
      requireFresh();
      return store.setRole(name, role);
    },
    async enable(name) {
      await requireOther(name);
      requireFresh();
      return store.enable(name);
    },
    async disable(name) {
      await requireOther(name);
      return store.disable(name);
    },
    async endSession(name, sessionId) {
      const operator = await store.get(name);
      await sessions.end({ ...operator, actor }, sessionId);
    },
    async endSessions(name) {
      const operator = await store.get(name);
      return sessions.endAll({ ...operator, actor });
    },
    async revokeToken(name, tokenId) {
      if (await tokens.revoke(await store.get(name), tokenId)) return;
      throw new OperatorsError('OPERATORS_TOKEN_UNKNOWN', `${name} has no token ${tokenId}.`);
    },
    async removePasskey(name, passkeyId) {
      await requireOther(name);
      if (await removePasskey(parts, await store.get(name), passkeyId)) return;
      throw new OperatorsError('OPERATORS_PASSKEY_UNKNOWN', 'the operator has no such passkey');
    },
  };
}
