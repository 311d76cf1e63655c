import { randomUUID } from 'node:crypto';

/**
 * A UUID that begins with the time (version 7, RFC 9562 §5.7) and has 74 random bits. Rows of the same time
 * lie together in an index over such ids, so that a transaction writes one page of it and not one per row.
 */
export function createTimedUuid(at: Date): string {
  const time = Math.max(0, at.getTime()).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
