/**
 * The outgoing queue: stores Direct messages durably, and carries each to its recipients' mail servers under a lease.
 * A node that dies loses its leases and nothing else.
 *
 * Standards: AS-41 and AS-42 (one envelope for all usable recipients), EDGE-07 (MX, retries inside the notification
 * window), MDN-27 (failures are told at once). It knows nothing of message states: each recipient's outcome is handed to
 * the listener inside the transaction that stores it. Called by the messaging service.
 */
export { createDelivery, type Delivery, type DeliveryOptions } from './delivery.ts';
export type { DeliveryFailureReason, DeliveryOutcome, DeliveryRequest, OutcomeListener } from './queue.ts';
export type { DeliveryKind, DeliveryTables } from './tables.ts';
