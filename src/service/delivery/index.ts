/**
 * The outgoing queue: stores Direct messages durably, and carries each to its recipients' mail servers under
 * a lease. One row per destination domain, so that each is tried, settled and retried by itself
 * (Decision 0023). A node that dies loses its leases and nothing else.
 *
 * Standards: AS-41 and AS-42 (one envelope for all usable recipients), EDGE-07 (MX, retries inside the
 * notification window), MDN-27 (failures are told immediately). It knows nothing of message states:
 * outcomes are passed to the listener inside the transaction that stores them. Called by the messaging
 * service; operators use `DeliveryAdmin`.
 */
import type { createDelivery as Create } from './delivery.ts';

export {
  type AttemptRow,
  type DestinationPage,
  type Ended,
  type RecordChange,
  type QueuedDestination,
  type QueuePage,
  type Retried,
  type SelectedDestination,
  type Selection,
  createDeliveryAdmin,
  maxSelected,
} from './admin.ts';
export { listDestinations, type DestinationQuery, type WaitingDestination } from './list-destinations.ts';

export type { Delivery, DeliveryOptions } from './delivery.ts';
export { describeHold, listHolds, type HeldDestination } from './holds.ts';
export { isMailDue, measureQueue, findLastAttempt } from './measure-queue.ts';

export type { CertificateListener, DeliveryOutcome, DeliveryRequest } from './request.ts';
export type { DeliveryFailureReason, DeliveryKind, DeliveryTables } from './tables.ts';
export { deliveryEncryptedColumns } from './queue.ts';

// Loaded by the call, with the agent: commands read and change the queue without it.
export const createDelivery: typeof Create = async (options) =>
  (await import('./delivery.ts')).createDelivery(options);
