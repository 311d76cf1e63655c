import type { Budget, Clock, Log } from '../../core/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';
import type {
  AnyTransaction,
  Config,
  ContentStore,
  Emit,
  FairSlots,
  Storage,
  Vault,
} from '../../platform/index.ts';
import type { Agent, IncomingEnvelope, OpenedIncoming, OpenOptions } from '../agent/index.ts';
import type { Audit } from '../audit/index.ts';
import type { Delivery } from '../delivery/index.ts';
import type { RowAlarm } from '../integrity/index.ts';
import type { ClientStore } from '../oauth/index.ts';
import type { DayLimits, StorageLimits } from '../organizations/index.ts';
import type { Trust } from '../trust/index.ts';
import type { Webhooks } from '../webhook/index.ts';
import type { WorkerPool } from './contents/worker-pool.ts';
import type { messagingEvents } from './events.ts';
import type { ServiceIdentity } from './identity.ts';

/** Port to the trust service. */
export type AddressBook = Pick<
  Trust,
  'findAddress' | 'findRoute' | 'isHostedDomain' | 'findDomainState' | 'findSigningKeys' | 'listAnchors'
>;

/** Port to the delivery service. */
export type OutgoingQueue = Pick<Delivery, 'prepare' | 'enqueue' | 'findWaiting' | 'listAttempts'>;

/** Mail after the security and trust agent: decrypted, verified, trusted and unwrapped. */
export interface OpenedMail extends Omit<OpenedIncoming, 'signerFingerprint' | 'signerPath' | 'refused'> {
  readonly signerPath?: OpenedIncoming['signerPath'];
  /** Absent: there are none. */
  readonly refused?: OpenedIncoming['refused'];
}

export type { OpenOptions } from '../agent/index.ts';

/** Port to the security and trust agent. */
export interface IncomingAgent {
  /** Throws a coded error; a refused message is neither transient nor internal. */
  openIncoming(envelope: IncomingEnvelope, options: OpenOptions): Promise<OpenedMail>;
  /** For checking addresses before a send. */
  resolveRecipients: Agent['resolveRecipients'];
}

/** True if the directory lists an address; undefined if that is unknown at present. */
export type DirectoryLookup = (address: DirectAddress) => Promise<boolean | undefined>;

/** The state of an address by verification, as shown. */
export interface ShownVerification {
  readonly state: 'trusted' | 'discoverable' | 'expired' | 'no-certificate' | 'unreachable' | 'unverified';
  readonly reason: string;
  readonly checkedTime: string | null;
  readonly lastProcessedMonth: string | null;
}

export type VerificationLookup = (address: DirectAddress) => Promise<ShownVerification>;

/** Port to the client store: the owner of an address. */
export type ClientBook = Pick<ClientStore, 'get' | 'findOwned'>;

/** A received copy, stored. */
export interface StoredCopy {
  readonly copyId: string;
  readonly address: DirectAddress;
  readonly receivedAt: Date;
  /** Octets of the message. */
  readonly sizeBytes: number;
}

/** A message that an edge account has sent, kept for its mailbox of sent messages. */
export interface KeptMessage {
  readonly edgeAccount: string;
  /** Of the row in `sent_message`. */
  readonly sentId: string;
  readonly sentAt: Date;
  /** Octets of the message. */
  readonly sizeBytes: number;
}

/** The dependencies of this module's functions. */
export interface MessagingDependencies {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly contents: ContentStore;
  readonly workerPool: WorkerPool;
  readonly clock: Clock;
  readonly log: Log;
  readonly emit: Emit<typeof messagingEvents>;
  readonly audit: Audit;
  /** Reports a row that this service has not written. */
  readonly alarmOfRow: RowAlarm;
  /** What the organization of a client may send on a day. */
  readonly dayLimits: DayLimits;
  /** Whose organization has no room for more. */
  readonly storageLimits: StorageLimits;
  readonly trust: AddressBook;
  readonly delivery: OutgoingQueue;
  readonly webhooks: Webhooks;
  readonly clients: ClientBook;
  readonly agent: IncomingAgent;
  /** Without it, `listed` is always undefined. */
  readonly isListed?: DirectoryLookup | undefined;
  /** For checks that ask for it. */
  readonly findVerification?: VerificationLookup | undefined;
  /** Called for each recipient whose processed MDN was applied. Must be cheap. */
  readonly onProcessed?: ((recipient: DirectAddress) => void) | undefined;
  /** Whether mail for the address counts as dispatched once it is stored; else once it is acknowledged. */
  readonly dispatchesStored?: ((recipient: DirectAddress) => Promise<boolean>) | undefined;
  /** Called in the transaction that stores what was received, with its copies. */
  readonly onStored?: ((tx: AnyTransaction, copies: readonly StoredCopy[]) => Promise<void>) | undefined;
  /** Called in the transaction that accepts a message which its edge account keeps. */
  readonly onKept?: ((tx: AnyTransaction, message: KeptMessage) => Promise<void>) | undefined;
  /** Our name in MDNs, and the OID that we sign documents' origin with. */
  readonly identity: ServiceIdentity;
  readonly settings: Config['messaging'];
  /** The limits of validate: addresses by client, and slots for discoveries. */
  readonly checks: { readonly budget: Budget; readonly slots: FairSlots };
  readonly wrapping: Pick<Config['trust'], 'wrappedDomains' | 'unwrappedDomains'>;
}

/** Origin of a request, for the audit trail. */
export interface RequestOrigin {
  readonly requestId?: string | undefined;
  readonly remoteAddress?: string | undefined;
}
