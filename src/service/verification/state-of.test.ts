import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stateOf } from './state-of.ts';

const refusal = (...codes: readonly (readonly [code: string, failedAt?: string])[]) =>
  ({
    outcome: 'refused',
    reason: 'untrusted',
    refused: codes.map(([code, failedAt]) => ({ code, ...(failedAt !== undefined && { failedAt }) })),
  }) as unknown as Parameters<typeof stateOf>[0];

test('an address is expired if its own certificates are, and not because a CA certificate above them is', () => {
  for (const [verdict, state, reason] of [
    [refusal(['PKI_EXPIRED'], ['PKI_EXPIRED']), 'expired', 'PKI_EXPIRED'],
    [refusal(['PKI_EXPIRED', 'ca']), 'discoverable', 'PKI_EXPIRED'],
    [refusal(['PKI_EXPIRED'], ['PKI_NOT_BOUND']), 'discoverable', 'PKI_NOT_BOUND'],
    [refusal(), 'discoverable', 'DIRECT_RECIPIENT_CERTIFICATES_INVALID'],
  ] as const)
    assert.deepEqual(stateOf(verdict), { state, reason });
});
