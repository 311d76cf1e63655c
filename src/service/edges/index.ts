/**
 * Edge accounts: by which software that speaks no REST signs in for a client, with its addresses, protocols,
 * passwords and policies, and what its protocols share: the lease of a queue, and how often a message was
 * offered in vain.
 *
 * Passwords are stored under scrypt and are in no log, error or audit row. An account may never do more than
 * its client. Not here: the protocols (app/edges), messages and their states (service/messaging).
 * Called by the edges, by the composition root and by the command line.
 */
export { createEdges, type Edges } from './create-edges.ts';
export {
  acknowledgedByForms,
  edgeProtocols,
  inboundForms,
  outboundForms,
  toldByLine,
  toldByMailbox,
  type EdgeAccount,
  type EdgePolicies,
  type EdgeProtocol,
  type EdgeSettings,
} from './account.ts';
export type { EdgeAccountStore, IssuedPassword, NewEdgeAccount } from './account-store.ts';
export type { EdgeSession } from './sign-in.ts';
export {
  mailFlags,
  renewMailboxes,
  type FlagChange,
  type MailboxState,
  type MailCounts,
  type MailItem,
} from './mailboxes.ts';
export { mailboxNames, type MailboxName } from './tables.ts';
export { edgesGuardedTables } from './guards.ts';
export { edgesOverloaded } from './errors.ts';
