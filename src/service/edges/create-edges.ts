import type { Clock } from '../../core/index.ts';
import type { Storage, Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { createSlowHasher, type ClientStore } from '../oauth/index.ts';
import { createAccountStore, type EdgeAccountStore } from './account-store.ts';
import { createEdgesGuards } from './guards.ts';
import { createAccountLeases, type AccountLeases } from './leases.ts';
import { createMailboxes, type Mailboxes } from './mailboxes.ts';
import { createOffers, type Offers } from './offers.ts';
import { createSignIns, type SignInDependencies, type SignIns } from './sign-in.ts';

export interface EdgesOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly clients: Pick<ClientStore, 'get'>;
  /** Failed sign-ins per network, and per user name there, before they are turned away. */
  readonly attemptsPerMinute: number;
  readonly onSignIn?: SignInDependencies['onSignIn'];
}

/** Edge accounts and what their protocols share. */
export interface Edges {
  readonly accounts: EdgeAccountStore;
  /** The accounts for one operator, such as `operator:alice`, whom the audit trail names. */
  as(actor: string): EdgeAccountStore;
  readonly signIns: SignIns;
  readonly leases: AccountLeases;
  readonly offers: Offers;
  readonly mailboxes: Mailboxes;
}

export function createEdges(options: EdgesOptions): Edges {
  const deps = { ...options, hasher: createSlowHasher(), guards: createEdgesGuards(options) };
  return {
    accounts: createAccountStore(deps),
    as: (actor) => createAccountStore({ ...deps, audit: deps.audit.as(actor) }),
    signIns: createSignIns(deps),
    leases: createAccountLeases(options.storage),
    offers: createOffers(options),
    mailboxes: createMailboxes(options),
  };
}
