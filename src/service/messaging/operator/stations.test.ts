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

function factsOf(reason: string, history: readonly HistoryEntry[]): StationFacts {
  return {
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
}

function statesOf(reason: string, history: readonly HistoryEntry[]): string {
  return findStations(factsOf(reason, history))
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

test('a certificate that was found says where, and whether that was asked for this message', () => {
  const attempt = {
    startedAt: at,
    durationMs: 1,
    destination: 'direct.example',
    host: '',
    address: '',
    tls: '',
    reply: '',
    code: '',
    outcome: 'failed',
    sentHash: '',
  } as const;
  const textOf = (finding: object): string | undefined => {
    const certificates = [
      { to: 'bo@direct.example', source: 'dns-address' },
      { to: 'ann@direct.example', ...finding },
    ];
    const facts = { ...factsOf('untrusted', []), attempts: [{ ...attempt, certificates }] };
    return findStations(facts).find(({ id }) => id === 'certificate')?.text;
  };
  assert.equal(textOf({ source: 'ldap-domain' }), 'A certificate was found for the domain in LDAP.');
  assert.equal(
    textOf({ source: 'dns-address', isCached: true }),
    'A certificate was found for the address in DNS earlier, and the answer is still valid.',
  );
  // Of a version before, or changed in the database.
  for (const source of [undefined, 'constructor', 1])
    assert.equal(textOf({ source }), 'A certificate was found.');
});
