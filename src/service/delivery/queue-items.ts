import { randomUUID } from 'node:crypto';
import { readTexts } from '../../core/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';
import type { FairItem } from '../../platform/index.ts';
import type { PathCertificate } from '../agent/index.ts';
import type { DeliveryProblem, RecipientDecision } from './request.ts';
import type { DeliveryKind, DeliveryTables } from './tables.ts';

/** One destination of a message, which this node holds a lease on. */
export interface ClaimedDestination extends FairItem {
  readonly deliveryId: string;
  readonly messageId: string;
  readonly kind: DeliveryKind;
  readonly sender: DirectAddress;
  /** Empty if they cannot be read: then `settle` fails all that the message still has at the domain. */
  readonly recipients: readonly DirectAddress[];
  /** Initial number of destinations of the message. */
  readonly destinations: number;
  /** Made before this one. */
  readonly attempts: number;
  /** By `Storage.clock`. */
  readonly notAfter: number;
  /** By `Storage.clock`; moved by each renewal. */
  leaseUntil: number;
}

/** The facts of an attempt, as stored in its row. */
export interface AttemptRecord {
  readonly host: string;
  readonly address: string;
  readonly tls: string;
  readonly reply: string;
  readonly code: string;
  /** JSON. */
  readonly certificates: string;
  /** SHA-256 of the bytes sent, hex; empty if nothing was sent. */
  readonly sentHash: string;
  readonly startedAt: Date;
  readonly durationMs: number;
}

/** The mail server of an attempt, by name and IP address. */
export type LastServer = Pick<AttemptRecord, 'host' | 'address'>;

/** The result of an attempt to be stored. Recipients without a decision are retried. */
export interface Settlement {
  readonly decisions: readonly RecipientDecision[];
  /** Why the others wait. */
  readonly problem?: DeliveryProblem | undefined;
  /** Time of their next attempt, by `Storage.clock`. */
  readonly nextAttemptAt: number;
  /** Left out if nothing was attempted. */
  readonly attempt?: AttemptRecord | undefined;
  /** The certificates of the attempt. */
  readonly pathCertificates?: readonly PathCertificate[] | undefined;
}

/** The row of a destination that waits. */
export type Destination = DeliveryTables['delivery_destination'];

export interface DestinationRecipients {
  readonly id: string;
  readonly recipients: readonly DirectAddress[];
}

/**
 * `next_attempt_at` of items that an operator wants retried now, even while a node backs off from the
 * destination.
 */
export const dueAtOnce = 0;

/** Ids that begin with the time sort by age, and rows of the same time lie together in the index. */
export function timedId(at: Date): string {
  return `${timePrefix(at.getTime())}-${randomUUID()}`;
}

export function timePrefix(atMs: number): string {
  return Math.max(0, atMs).toString(16).padStart(12, '0');
}

/** Empty for what is no list of addresses. */
export function readRecipients(json: string): readonly DirectAddress[] {
  return readTexts(json) as readonly DirectAddress[];
}
