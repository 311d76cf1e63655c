import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryEntry } from '../status/find-status.ts';
import { findStations, type StationFacts } from './stations.ts';

const at = new Date('2026-01-02T03:04:05Z');
const entry = (event: string, isLate = false): HistoryEntry => ({
  event,
  time: at,
  status: 'failed',
  isLate,
  reason: '',
  statusCode: '',
  diagnostic: '',
});

function statesOf(reason: string, history: readonly HistoryEntry[]): string {
  const facts: StationFacts = {
    recipient: {
      address: 'ann@direct.example',
      state: 'failed',
      at,
      isFinal: true,
      reason,
      statusCode: '5.1.1',
      text: 'The recipient does not exist there.',
      attempts: 1,
      history,
    },
    acceptedAt: at,
    requestsFinalDelivery: false,
    attempts: [],
  };
  return findStations(facts)
    .map(({ id, state }) => `${id}:${state}`)
    .slice(3, 5)
    .join(' ');
}

test('a recipient that the mail server refuses stops at sent', () => {
  assert.equal(statesOf('unknown-recipient', [entry('refused')]), 'sent:failed processed:not-reached');
});

test('a recipient that the receiving HISP reports as unknown stops at processed', () => {
  const reported = 'sent:ok processed:failed';
  assert.equal(statesOf('unknown-recipient', [entry('sent'), entry('failure-reported')]), reported);
  // The report overtakes the SMTP reply.
  assert.equal(statesOf('unknown-recipient', [entry('failure-reported')]), reported);
  assert.equal(statesOf('unknown-recipient', [entry('failure-reported'), entry('sent', true)]), reported);
});
