import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alice, bob, carol, startTestMessaging } from '../../../../test/messaging/start-messaging.ts';
import { DnsError } from '../../../lib/dns/index.ts';
import { addressKey } from '../../../lib/values/index.ts';

test('Decision 0009: an address for which no socket was free is undecided, the others are answered', async (t) => {
  const world = await startTestMessaging({
    async resolveRecipients([address = bob]) {
      if (addressKey(address) === addressKey(carol))
        throw new DnsError('DNS_NO_SOCKET', 'No socket could be opened');
      return { usable: [{ address, certificates: [] }], refused: [] };
    },
  });
  t.after(() => world.close());
  const checks = await world.messaging.checkAddresses(world.clinic, {
    fromDirectAddress: alice,
    toDirectAddress: [bob, carol],
  });
  assert.deepEqual(
    checks.map(({ text, hasCertificate, reason, statusCode }) => [text, hasCertificate, reason, statusCode]),
    [
      [bob, true, '', '2.0.0'],
      [carol, undefined, 'undecided', '4.4.3'],
    ],
  );
  assert.equal(world.logLines.filter((line) => line.includes('DNS_NO_SOCKET')).length, 1);
});
