import assert from 'node:assert/strict';
import { test } from 'node:test';
import { directErrors } from '../../../lib/direct/index.ts';
import { pkiErrors } from '../../../lib/pki/index.ts';
import { inboundTextOf } from './inbound-texts.ts';

const ownFault = inboundTextOf('INTERNAL').text;

test('SEC-02: what a sender did wrong is not called a fault of this service', () => {
  const ofSenders = Object.entries({ ...directErrors, ...pkiErrors })
    .filter(([, { kind }]) => kind !== 'internal')
    .map(([code]) => code);
  const codes = [...ofSenders, 'MIME_TOO_DEEP', 'date-too-old', 'date-in-future', 'AGENT_NO_DECRYPTION_KEY'];
  assert.deepEqual(
    codes.filter((code) => inboundTextOf(code).text === ownFault),
    [],
  );
});

test('a refusal by a setting or a clock names it', () => {
  for (const [code, name] of [
    ['date-too-old', 'messaging.maxMailAgeDays'],
    ['date-in-future', 'messaging.maxMailAheadHours'],
    ['DIRECT_SIGNATURE_NOT_ALLOWED', 'trust.acceptsSha1Signatures'],
    ['DIRECT_NOT_WRAPPED', 'trust.requiresWrapping'],
  ] as const)
    assert.ok(inboundTextOf(code).advice.includes(name), code);
});

test('a missing certificate is not an invalid one, and a hidden recipient is no bad format', () => {
  assert.match(inboundTextOf('DIRECT_SENDER_CERTIFICATE_MISSING').text, /does not contain/);
  assert.match(inboundTextOf('DIRECT_ENVELOPE_RECIPIENT_MISMATCH').text, /To and Cc fields/);
  assert.match(inboundTextOf('DIRECT_SENDER_AMBIGUOUS').text, /From and Sender/);
});
