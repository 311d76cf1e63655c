import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from './address-network.ts';

test('an IPv6 address in any notation is counted with its network', () => {
  for (const address of [
    '2001:db8:0:1::1',
    '2001:DB8::1:0:0:0:2',
    '2001:db8:0:1:ffff:ffff:ffff:ffff',
    '2001:db8:0:1::192.0.2.1',
  ])
    assert.equal(networkOf(address), '2001:db8:0:1::/64', address);
  assert.equal(networkOf('2001:db8::1'), '2001:db8:0:0::/64');
  assert.equal(networkOf('::1'), '0:0:0:0::/64');
  assert.equal(networkOf('fe80::1%eth0'), 'fe80:0:0:0::/64');
  for (const address of ['2001:db8::1', '2001:db8::abcd', '2001:db8:0:ff::1', '2001:db8:0:0:1::'])
    assert.equal(networkOf(address, { ipv6Bits: 56 }), '2001:db8:0:0::/56', address);
  assert.equal(networkOf('2001:db8:0:100::1', { ipv6Bits: 56 }), '2001:db8:0:100::/56');
});

test('an IPv4 address counts by itself or with its network, a mapped one like the plain', () => {
  assert.equal(networkOf('192.0.2.1'), '192.0.2.1');
  assert.equal(networkOf('::ffff:192.0.2.1'), '192.0.2.1');
  assert.equal(networkOf('::ffff:192.0.2.1', { ipv4Bits: 24 }), '192.0.2.0/24');
});
