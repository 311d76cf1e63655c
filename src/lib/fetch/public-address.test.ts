import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPublicAddress } from './public-address.ts';

test('HOOK-03: addresses that everybody can reach are public', () => {
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '172.15.0.1',
    '172.32.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '192.0.1.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450::1',
    '2001:4860:4860::8888',
  ]) {
    assert.ok(isPublicAddress(address), address);
  }
});

test('HOOK-03, SEC-11: private, loopback, link-local, shared, multicast, reserved and embedding addresses are not', () => {
  const ipv4 = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
  ];
  const ipv6 = [
    '::',
    '::1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    '5f00::1',
  ];
  for (const address of [...ipv4, ...ipv6, '', 'localhost', '1.2.3', '[::1]'])
    assert.equal(isPublicAddress(address), false, address);
});
