import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodedError } from '../../core/index.ts';
import { loadConfig } from '../../platform/index.ts';
import { refuseUnreachable } from './refuse-unreachable.ts';

function problemsOf(settings: Readonly<Record<string, string>>, domains = ['direct.example.org']): string[] {
  try {
    refuseUnreachable(loadConfig({}, undefined, settings), domains);
    return [];
  } catch (error) {
    assert.ok(error instanceof CodedError && error.code === 'PLATFORM_CONFIG_INVALID');
    for (const { field, detail } of error.problems)
      assert.ok(error.message.includes(detail) && detail.includes(field));
    return error.problems.map(({ field }) => field);
  }
}

const reachable = { 'smtp.host': '0.0.0.0', 'smtp.hostname': 'mx.example.org' };

test('a HISP with domains is not started where no other HISP could reach it, and the settings are named', () => {
  assert.deepEqual(problemsOf({}), ['smtp.hostname', 'smtp.host']);
  assert.deepEqual(problemsOf({ ...reachable, 'dns.isServing': 'true' }), ['dns.host']);
  assert.deepEqual(problemsOf(reachable), []);
  assert.deepEqual(problemsOf({ ...reachable, 'dns.isServing': 'true', 'dns.host': '::' }), []);
});

test('loopback is right where a relay in front passes traffic on, and while no domain is hosted', () => {
  assert.deepEqual(
    problemsOf({
      'smtp.hostname': 'mx.example.org',
      'smtp.isBehindRelay': 'true',
      'dns.isServing': 'true',
      'dns.isBehindRelay': 'true',
    }),
    [],
  );
  assert.deepEqual(problemsOf({}, []), []);
});

test('a TLS proxy whose address is not trusted is refused, with or without domains', () => {
  const proxied = { ...reachable, 'http.isBehindTlsProxy': 'true' };
  assert.deepEqual(problemsOf(proxied), ['http.trustedProxies']);
  assert.deepEqual(problemsOf(proxied, []), ['http.trustedProxies']);
  assert.deepEqual(problemsOf({ ...proxied, 'http.trustedProxies': '127.0.0.1' }), []);
});

test('a name server without the address of its mail server is refused', () => {
  const serving = {
    ...reachable,
    'smtp.hostname': 'MX.direct.example.org',
    'dns.isServing': 'true',
    'dns.host': '0.0.0.0',
  };
  assert.deepEqual(problemsOf(serving), ['smtp.publicAddresses']);
  assert.deepEqual(problemsOf(serving, ['other.example.org']), []);
  assert.deepEqual(problemsOf({ ...serving, 'smtp.publicAddresses': '192.0.2.1' }), []);
  assert.deepEqual(problemsOf({ ...serving, 'smtp.host': '192.0.2.1' }), []);
});
