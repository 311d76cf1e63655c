import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageDetails } from '../contract/index.ts';
import { writeTicket } from './ticket.ts';

test('a ticket names who sent the message: a client, or an operator for a test', () => {
  const lineOf = (clientId: string, clientName: string): string | undefined => {
    const message = { clientId, clientName, requestId: '', legalHolds: [], recipients: [] };
    const services = { config: { smtp: { hostname: 'mx.example' } }, version: '1' };
    return writeTicket(message as unknown as MessageDetails, services as never)
      .split('\n')
      .find((line) => /^(?:Client|Test by) /.test(line));
  };
  assert.equal(lineOf('hisp-1', 'EHR'), 'Client      hisp-1 (EHR)');
  assert.equal(lineOf('hisp-1', ''), 'Client      hisp-1');
  assert.equal(lineOf('operator:Ann Lee', ''), 'Test by     Ann Lee');
  assert.equal(lineOf('', ''), undefined);
});
