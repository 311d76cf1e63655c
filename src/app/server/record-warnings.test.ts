import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock, silentLog } from '../../core/index.ts';
import { parseDirectAddress } from '../../lib/values/index.ts';
import type { AuditEvent } from '../../service/audit/index.ts';
import { createWarningRecorder } from './record-warnings.ts';

test('a CRL that is down makes one audit row and one line in the log per day and issuer, not two per message', () => {
  const clock = createManualClock(new Date('2026-05-01T00:00:00Z'));
  const rows: AuditEvent[] = [];
  let lines = 0;
  const record = createWarningRecorder({
    clock,
    log: { ...silentLog, warn: () => void lines++ },
    audit: { record: async (event) => void rows.push(event) },
  });
  const meet = (count: number, issuer: string, code = 'PKI_CRL_UNAVAILABLE'): void => {
    for (let index = 0; index < count; index++)
      record({
        address: parseDirectAddress(`dr${index}@one.example`),
        code,
        fingerprint: `f${index}`,
        issuer,
      });
  };
  meet(1000, 'ca1');
  assert.deepEqual([rows.length, lines], [1, 1]);
  assert.deepEqual(rows[0]?.objects, {
    address: 'dr0@one.example',
    code: 'PKI_CRL_UNAVAILABLE',
    fingerprint: 'f0',
    issuer: 'ca1',
  });
  meet(10, 'ca2');
  meet(10, 'ca1', 'PKI_CRL_STALE');
  assert.equal(rows.length, 3);
  clock.advance(86_399_999);
  meet(10, 'ca1');
  assert.equal(rows.length, 3);
  clock.advance(1);
  meet(10, 'ca1');
  assert.equal(rows.length, 4);
});
