import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRelayRejection } from './failures.ts';

const rejected = (code: number, text: string, enhancedCode?: string) =>
  readRelayRejection({
    code,
    text,
    isTransient: code < 500,
    ...(enhancedCode === undefined ? {} : { enhancedCode }),
  } as Parameters<typeof readRelayRejection>[0]);

for (const [code, text, enhanced] of [
  [530, 'Authentication required', '5.7.0'],
  [530, 'Must issue a STARTTLS command first', '5.7.0'],
  [534, 'Authentication mechanism is too weak', '5.7.9'],
  [535, 'Authentication credentials invalid', '5.7.8'],
  [538, 'Encryption required for requested authentication mechanism', '5.7.11'],
  [550, 'Authentication is required for relay'],
  [550, 'authentication required', '5.7.1'],
  [550, 'SMTP AUTH is required'],
  [550, 'relay not permitted'],
  [550, 'Unable to relay for b@direct.beta.example', '5.7.54'],
  [550, 'Relaying denied', '5.7.1'],
  [550, 'relaying to <b@direct.beta.example> prohibited by administrator'],
  [551, 'we do not relay; not authenticated'],
  [553, 'sorry, you must authenticate first'],
  [553, 'Relaying disallowed, relaying not allowed'],
  [554, '<b@direct.beta.example>: Relay access denied', '5.7.1'],
  [554, 'Client host rejected: relay access refused'],
  [454, 'Relay access denied', '4.7.1'],
  [550, 'SMTP; Client does not have permissions to send as this sender', '5.7.60'],
  [553, "sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)", undefined],
  [503, 'AUTH first (#5.5.1)', undefined],
  [503, 'Authenticate first', '5.5.1'],
  [550, 'Invalid credentials for relay [192.0.2.1].', '5.7.1'],
  [554, '<unknown[192.0.2.1]>: Client host rejected: Access denied', '5.7.1'],
  [554, 'Message rejected: Email address is not verified.', undefined],
  [550, 'Sender address rejected: not owned by user hisp', '5.7.1'],
  [553, '<a@direct.alpha.example>: Sender address rejected: not logged in', '5.7.1'],
  [550, 'The from address does not match a verified Sender Identity', undefined],
  [451, 'Temporary authentication failure', '4.7.0'],
  [454, 'Authentication needed'],
  [550, 'Unauthenticated senders are refused', '5.7.1'],
  [550, 'Sender not authenticated'],
] as const) {
  test(`a smart host that says “${code} ${text}” is a fault of our gateway, and the mail waits`, () => {
    const failure = rejected(code, text, enhanced);
    assert.deepEqual(
      [failure.reason, failure.isTransient, failure.statusCode],
      ['gateway-unavailable', true, undefined],
    );
    assert.match(failure.text, /^This service's mail gateway/);
    assert.ok(failure.text.includes(text));
  });
}

for (const [code, text, enhanced, reason] of [
  [550, 'User unknown', '5.1.1', 'unknown-recipient'],
  [550, 'Mailbox unavailable', undefined, 'smtp-rejected'],
  [550, 'Message refused: DMARC authentication failed', '5.7.26', 'smtp-rejected'],
  [550, 'Unauthorized: DMARC authentication failure', '5.7.26', 'smtp-rejected'],
  [552, 'Message too large', '5.3.4', 'smtp-rejected'],
  [554, 'Rejected by policy', '5.7.1', 'smtp-rejected'],
  [451, 'Try again later', '4.7.0', 'smtp-deferred'],
] as const) {
  test(`a smart host that says “${code} ${text}” speaks of the message or the recipient`, () => {
    assert.equal(rejected(code, text, enhanced).reason, reason);
  });
}
