import { silentLog, type Clock } from '../../core/index.ts';
import { createLeases, type Storage, type Vault } from '../../platform/index.ts';
import { createAdmin, type DeliveryAdmin } from './admin.ts';
import { readHolds } from './holds.ts';
import { createQueue } from './queue.ts';
import type { OutcomeListener } from './request.ts';

export interface AdminOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  /** Called with the outcomes that `fail` decides, inside the transaction. */
  readonly onOutcome: OutcomeListener;
}

/** Long enough to store the end of a delivery. */
const leaseMs = 60_000;

/**
 * Operators' actions on the queue, from a process that delivers nothing. The nodes of the service follow
 * within one or two seconds: they are notified through the database.
 */
export function createDeliveryAdmin({ storage, vault, clock, onOutcome }: AdminOptions): DeliveryAdmin {
  const queue = createQueue({
    storage,
    vault,
    clock,
    onOutcome,
    log: silentLog,
    leases: createLeases({ storage, table: 'delivery_destination', leaseMs }),
    lifetimeMs: 0,
    hasRoom: () => false,
    onStored: () => {},
  });
  return createAdmin({ storage, clock, queue, holds: readHolds(storage) });
}
