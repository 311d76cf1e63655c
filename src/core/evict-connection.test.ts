import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findEvictable } from './evict-connection.ts';

test('who makes room: first who asked nothing, of the largest share, idle longest; nobody useful for a larger share', () => {
  interface One {
    readonly name: string;
    readonly share: number;
    readonly idleMs: number | undefined;
    readonly asked?: boolean;
  }
  const find = (share: number, ...connections: readonly One[]): string | undefined =>
    findEvictable(
      connections.map((one) => ({
        ...one,
        idleSinceMs: () => (one.idleMs === undefined ? undefined : performance.now() - one.idleMs),
        hasAsked: () => one.asked === true,
      })),
      { share, shareOf: (one) => one.share, evictIdleMs: 2_000 },
    )?.name;
  const busy = { name: 'busy', share: 9, idleMs: undefined };
  const fresh = { name: 'fresh', share: 9, idleMs: 1 };
  const older = { name: 'older', share: 9, idleMs: 50 };
  const single = { name: 'single', share: 1, idleMs: 1_000 };
  const silent = { name: 'silent', share: 1, idleMs: 3_000 };
  const client = { name: 'client', share: 1, idleMs: 9_000, asked: true };
  const many = { name: 'many', share: 20, idleMs: 9_000, asked: true };
  assert.equal(find(1, busy), undefined);
  assert.equal(find(1, busy, single), undefined);
  assert.equal(find(1, client, fresh, older, single), 'older');
  assert.equal(find(9, fresh, older, single, client), undefined);
  assert.equal(find(9, fresh, silent, client), 'silent');
  assert.equal(find(1, client), 'client');
  assert.equal(find(2, client), undefined);
  assert.equal(find(2, client, many), 'many');
  assert.equal(find(1, many, single, silent), 'silent');
});
