import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConnectionTable, type TableConnection } from './connection-shares.ts';

test('a full table names each connection once, however many ask for a place', () => {
  let named = 0;
  const nameOf = (address: string): string => {
    named++;
    return address;
  };
  const table = createConnectionTable({ maxConnections: 100, evictIdleMs: 60_000 }, [
    { reason: 'address', most: 100, nameOf },
  ]);
  let evicted = 0;
  const connect = (remoteAddress: string): TableConnection => ({
    remoteAddress,
    idleSinceMs: () => performance.now(),
    hasAsked: () => true,
    evict: () => void evicted++,
  });
  for (let count = 0; count < 100; count++) assert.equal(table.enter(connect('192.0.2.1')), undefined);
  named = 0;
  for (let count = 1; count <= 20; count++)
    assert.equal(table.enter(connect(`198.51.100.${count}`)), undefined);
  assert.deepEqual([named, evicted, table.size], [20, 20, 100]);
  const last = connect('203.0.113.1');
  assert.equal(table.enter(last), undefined);
  table.leave(last);
  table.leave(last);
  assert.equal(table.size, 99);
});
