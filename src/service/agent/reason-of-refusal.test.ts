import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reasonOfRefusal } from './refusal-reason.ts';

test('a refused recipient has one reason, whether a message or a check of the address met it', () => {
  const expired = { code: 'PKI_EXPIRED' };
  const expiredAbove = { code: 'PKI_EXPIRED', failedAt: 'CN=CA' };
  const cases = [
    ['no-certificate', false, [], 'no-certificate'],
    // What a later place published says nothing about the place that did not answer.
    ['no-certificate', true, [expired], 'dns-failed'],
    ['untrusted', false, [expired, expired], 'certificate-expired'],
    ['untrusted', false, [expired, expiredAbove], 'untrusted'],
  ] as const;
  for (const [reason, isTransient, certificates, expected] of cases)
    assert.equal(reasonOfRefusal({ reason, isTransient }, certificates), expected);
});
