import assert from 'node:assert/strict';
import test from 'node:test';
import { loadConfig } from '../../platform/index.ts';
import { fitMemory } from './fit-memory.ts';

const gigabyte = 1_000_000_000;
const load = (given: Readonly<Record<string, string>> = {}) =>
  loadConfig({ OPENHISP_DATA_DIR: '/data', ...given });
const budgetsOf = ({ http, smtp, messaging, edge }: ReturnType<typeof load>): readonly number[] => [
  http.maxUploadBytes,
  smtp.maxReceivingBytes,
  // As much for sending as for opening, and half of it for pushing to webhooks.
  messaging.maxWorkBytes,
  messaging.maxWorkBytes,
  messaging.maxWorkBytes / 2,
  edge.maxContentBytes,
  edge.maxMailboxBytes,
];

test('with 1 GB the budgets for contents and lists take less than half of it together; with 4 GB they are the settings', () => {
  const config = load();
  assert.deepEqual(fitMemory(config, 4 * gigabyte), config);
  const small = fitMemory(config, gigabyte);
  const sum = budgetsOf(small).reduce((total, bytes) => total + bytes, 0);
  assert.ok(sum > 0.44 * gigabyte && sum < 0.48 * gigabyte, String(sum));
  const { http, smtp } = small;
  assert.ok(http.maxUploadBytesPerClient < http.maxUploadBytes);
  assert.ok(smtp.maxReceivingBytesPerNetwork < smtp.maxReceivingBytes);
});

test('a setting below what fits is kept, one above it is lowered', () => {
  const given = { OPENHISP_HTTP_MAX_UPLOAD_BYTES: '5000000', OPENHISP_SMTP_MAX_RECEIVING_BYTES: '900000000' };
  const { http, smtp } = fitMemory(load(given), gigabyte);
  assert.equal(http.maxUploadBytes, 5_000_000);
  assert.ok(smtp.maxReceivingBytes < 80_000_000);
});
