import type { Kysely } from 'kysely';
import { type Clock, CodedError, createTokenBuckets, errorCode, networkOf } from '../../core/index.ts';
import { defaultSettings, type Storage, type Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { createOrganizationsGuards, createOwnership } from '../organizations/index.ts';
import { createAdministration, type OperatorAdministration } from './administration.ts';
import { createCeremonies } from './ceremonies.ts';
import { OperatorsError } from './errors.ts';
import type { SignedInOperator } from './fresh-sign-in.ts';
import { createOperatorGuards } from './guards.ts';
import { createLinks, type Links } from './links.ts';
import { createOpenIdSignIn, type OpenIdSettings, type OpenIdSignIn } from './open-id.ts';
import { createOperatorStore, type OperatorStore } from './operator-store.ts';
import type { OperatorParts } from './operator.ts';
import { createOwnPasskeys, type OwnPasskeys } from './own-passkeys.ts';
import { createPasskeys, type Passkeys } from './passkeys.ts';
import { createSessions, type SessionLimits, type Sessions, type SignInSource } from './sessions.ts';
import { createLinkSignIn, type LinkAnswer } from './sign-in-link.ts';
import type { OperatorTables, SignInMethod } from './tables.ts';
import { createOperatorTokens, type OperatorTokens } from './tokens.ts';

export interface OperatorsOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly sessionLimits?: SessionLimits;
  readonly attemptsPerMinute?: number;
  readonly openId?: OpenIdSettings | undefined;
}

/** Operators of the console and their sign-in. */
export interface Operators {
  readonly store: OperatorStore;
  readonly links: Links;
  readonly sessions: Omit<Sessions, 'startIn'>;
  readonly tokens: OperatorTokens;
  readonly passkeys: Pick<Passkeys, 'list' | 'remove'>;
  readonly ownPasskeys: OwnPasskeys;
  readonly signIn: SignIn;
  /** Administration by an operator, in the console. */
  as(caller: SignedInOperator): OperatorAdministration;
  /** Deletes expired rows. */
  deleteOld(): Promise<number>;
}

/**
 * The sign-in methods. Each failure is counted against the caller's network and audited; all of them also
 * throw OPERATORS_ATTEMPTS_EXCEEDED.
 */
export interface SignIn {
  /** Throws OPERATORS_LINK_INVALID. */
  byLink(token: string, source: SignInSource): Promise<LinkAnswer>;
  /** See Passkeys for these four. */
  beginEnrolment: WithSource<Passkeys['beginEnrolment']>;
  enrol: Passkeys['enrol'];
  beginPasskey: WithSource<Passkeys['beginSignIn']>;
  byPasskey: Passkeys['signIn'];
  /** Undefined unless an OpenID provider is set. */
  readonly openId:
    | { readonly name: string; begin: WithSource<OpenIdSignIn['begin']>; finish: OpenIdSignIn['finish'] }
    | undefined;
  /** See LinkSignIn. */
  openStandingLink(operatorId: string): string;
}

type WithSource<Work extends (...args: never[]) => unknown> = (
  source: SignInSource,
  ...args: Parameters<Work>
) => ReturnType<Work>;

const { idleMinutes, sessionHours } = defaultSettings.console;
const usualLimits: SessionLimits = { idleMs: idleMinutes * 60_000, lifetimeMs: sessionHours * 3_600_000 };

/** Retention of used and expired links, so that the audit trail distinguishes "used" from "unknown". */
const keepLinksMs = 30 * 86_400_000;

export function createOperators(options: OperatorsOptions): Operators {
  const { storage, clock, audit } = options;
  const guards = createOperatorGuards(options);
  const openIdIssuer = options.openId?.issuer;
  const ownership = createOwnership({ storage, guards: createOrganizationsGuards(options) });
  const parts: OperatorParts = { storage, clock, audit, guards, ownership, openIdIssuer };
  const sessions = createSessions({ ...parts, limits: options.sessionLimits ?? usualLimits });
  const links = createLinks(parts);
  const byLink = createLinkSignIn({ ...parts, links, sessions });
  const ceremonies = createCeremonies(parts);
  const passkeys = createPasskeys({ ...parts, links, sessions, ceremonies });
  const openId = options.openId && createOpenIdSignIn({ ...parts, sessions, ceremonies }, options.openId);
  const attempts = createSignInAttempts(options.attemptsPerMinute ?? 20, clock);

  async function attempt<R>(method: SignInMethod, source: SignInSource, work: () => Promise<R>): Promise<R> {
    attempts.check(source.remoteAddress);
    try {
      return await work();
    } catch (error) {
      attempts.failed(source.remoteAddress);
      const reason = error instanceof CodedError ? error.fields['reason'] : undefined;
      await audit.record({
        action: 'console.sign-in',
        outcome: 'refused',
        objects: {
          method,
          code: errorCode(error),
          ...(typeof reason === 'string' && { reason }),
        },
        requestId: source.requestId,
        remoteAddress: source.remoteAddress,
      });
      throw error;
    }
  }

  return {
    store: createOperatorStore(parts),
    links,
    sessions,
    tokens: createOperatorTokens(parts),
    passkeys,
    ownPasskeys: createOwnPasskeys({ ...parts, ceremonies }),
    signIn: {
      byLink: (token, source) => attempt('link', source, () => byLink.enter(token, source)),
      beginEnrolment: (source, ...args) =>
        attempt('passkey', source, async () => {
          attempts.begin(source.remoteAddress);
          return passkeys.beginEnrolment(...args);
        }),
      enrol: (...args) => attempt('passkey', args[4], () => passkeys.enrol(...args)),
      beginPasskey: async (source, rp) => {
        attempts.begin(source.remoteAddress);
        return passkeys.beginSignIn(rp);
      },
      byPasskey: (...args) => attempt('passkey', args[3], () => passkeys.signIn(...args)),
      openId: openId && {
        name: options.openId?.name ?? '',
        begin: async (source, ...args) => {
          attempts.begin(source.remoteAddress);
          return openId.begin(...args);
        },
        finish: (...args) => attempt('oidc', args[2], () => openId.finish(...args)),
      },
      openStandingLink: byLink.openStanding,
    },
    as: (caller) => createAdministration({ ...parts, sessions, passkeys }, caller),
    deleteOld: () =>
      storage.transaction(async (tx: Kysely<OperatorTables>) => {
        const nowMs = clock.now().getTime();
        let count = 0;
        for (const [table, keepMs] of [
          ['console_session', 0],
          ['console_token', 0],
          ['console_ceremony', 0],
          ['console_link', keepLinksMs],
        ] as const) {
          const { numDeletedRows } = await tx
            .deleteFrom(table)
            .where('expires_at', '<', nowMs - keepMs)
            .executeTakeFirst();
          count += Number(numDeletedRows);
        }
        return count;
      }),
  };
}

/**
 * Rate limit against guessing: failed sign-ins are counted per network, never per operator, so that nobody
 * can lock an operator out.
 */
interface SignInAttempts {
  /** Throws OPERATORS_ATTEMPTS_EXCEEDED. Call it before any lookup. */
  check(remoteAddress: string): void;
  failed(remoteAddress: string): void;
  /** The same for started sign-ins, each of which is stored as a row. Throws OPERATORS_ATTEMPTS_EXCEEDED. */
  begin(remoteAddress: string): void;
}

/** Allowed started sign-ins per allowed failure. */
const begunPerFailed = 3;

function createSignInAttempts(attemptsPerMinute: number, clock: Clock): SignInAttempts {
  const failures = createTokenBuckets({
    ratePerSecond: attemptsPerMinute / 60,
    burst: attemptsPerMinute,
    clock,
  });
  const begun = createTokenBuckets({
    ratePerSecond: (attemptsPerMinute * begunPerFailed) / 60,
    burst: attemptsPerMinute * begunPerFailed,
    clock,
  });
  return {
    check(remoteAddress) {
      if (failures.take(networkOf(remoteAddress), 0).remaining >= 1) return;
      throw tooMany(Math.ceil(60 / attemptsPerMinute));
    },
    failed: (remoteAddress) => void failures.take(networkOf(remoteAddress)),
    begin(remoteAddress) {
      const { allowed, retryAfterSeconds } = begun.take(networkOf(remoteAddress));
      if (!allowed) throw tooMany(retryAfterSeconds);
    },
  };
}

function tooMany(retryAfterSeconds: number): OperatorsError {
  return new OperatorsError('OPERATORS_ATTEMPTS_EXCEEDED', 'too many sign-ins', { retryAfterSeconds });
}
