import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as dns from '../../lib/dns/limits.ts';
import * as ldap from '../../lib/ldap/limits.ts';
import * as smtp from '../../lib/smtp/limits.ts';
import { defaultSettings } from '../../platform/index.ts';
import { maxBodyBytes } from '../../service/messaging/index.ts';

test('the limits of lib/smtp are the defaults of the settings', () => {
  const settings = defaultSettings.smtp;
  assert.deepEqual(
    {
      maxMessageBytes: settings.maxMessageBytes,
      maxBytesInFlight: settings.maxReceivingBytes,
      maxBytesPerNetwork: settings.maxReceivingBytesPerNetwork,
      maxConnections: settings.maxConnections,
      maxConnectionsPerPeer: settings.maxConnectionsPerAddress,
      maxConnectionsPerNetwork: settings.maxConnectionsPerNetwork,
      maxUselessCommands: settings.maxUselessCommands,
      minBytesPerSecond: settings.minBytesPerSecond,
      rateWindowMs: settings.rateWindowSeconds * 1000,
      idleMs: settings.idleTimeoutMs,
      messageReplyMs: settings.messageReplyTimeoutMs,
    },
    {
      maxMessageBytes: smtp.maxMessageBytes,
      maxBytesInFlight: smtp.maxBytesInFlight,
      maxBytesPerNetwork: smtp.maxBytesPerNetwork,
      maxConnections: smtp.maxConnections,
      maxConnectionsPerPeer: smtp.maxConnectionsPerPeer,
      maxConnectionsPerNetwork: smtp.maxConnectionsPerNetwork,
      maxUselessCommands: smtp.maxUselessCommands,
      minBytesPerSecond: smtp.minBytesPerSecond,
      rateWindowMs: smtp.rateWindowMs,
      idleMs: smtp.serverIdleMs,
      messageReplyMs: smtp.defaultMessageReplyMs,
    },
  );
});

test('the timeouts of lookups are those of the settings, so that the agent command decides as a send does', () => {
  const { dns: dnsSettings, ldap: ldapSettings } = defaultSettings;
  assert.deepEqual(
    [dnsSettings.timeoutMs, dnsSettings.attempts, ldapSettings.timeoutMs],
    [dns.queryTimeoutMs, dns.queryAttempts, ldap.lookupTimeoutMs],
  );
});

test('a message at the limit of attachments fits into the accepted SMTP message', () => {
  // The composed message in base64, and the sealed one in base64 again, with a line break after 76 characters
  // each.
  const sealedBytes = defaultSettings.messaging.maxAttachmentBytes * ((4 / 3) * (78 / 76)) ** 2;
  assert.ok(sealedBytes < defaultSettings.smtp.maxMessageBytes, `${Math.round(sealedBytes)} bytes`);
  assert.ok(maxBodyBytes(defaultSettings.messaging) < defaultSettings.http.maxUploadBytesPerClient);
});
