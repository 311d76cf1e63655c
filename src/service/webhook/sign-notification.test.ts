import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { findUrlProblem } from './check-webhook-url.ts';
import { retryDelay, retryDelaysMs } from './retry-schedule.ts';
import { createSigningSecret, readSigningSecret, signNotification } from './sign-notification.ts';

describe('HOOK-01: signatures', () => {
  it('a secret is whsec_ and 32 random bytes in base64', () => {
    const secret = createSigningSecret();
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.notEqual(secret, createSigningSecret());
  });

  it('signs id.timestamp.body with the bytes behind the prefix (the published example of Standard Webhooks)', async () => {
    const fields = {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: 1614265330,
      body: Buffer.from('{"test": 2432232314}'),
    };
    assert.equal(
      await signNotification([readSigningSecret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')], fields),
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  it('signs with each secret while a rotation lasts', async () => {
    const secrets = [createSigningSecret(), createSigningSecret()];
    const fields = { id: 'a', timestamp: 1, body: Buffer.from('b') };
    const expected = secrets.map(
      (secret) =>
        `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
          .update('a.1.b')
          .digest('base64')}`,
    );
    assert.equal(await signNotification(secrets.map(readSigningSecret), fields), expected.join(' '));
  });
});

describe('Decision 0013: retries', () => {
  it('are spread over about 24 hours', () => {
    const total = retryDelaysMs.reduce((sum, delay) => sum + delay, 0);
    assert.ok(total > 22 * 3_600_000 && total < 25 * 3_600_000);
  });
  it('have a jitter of a tenth, and end', () => {
    assert.equal(retryDelay(1, 0.5), 5000);
    assert.equal(retryDelay(1, 0), 4500);
    assert.ok((retryDelay(1, 0.999) ?? 0) <= 5500);
    assert.equal(retryDelay(retryDelaysMs.length, 0.5), retryDelaysMs.at(-1));
    assert.equal(retryDelay(retryDelaysMs.length + 1, 0.5), undefined);
  });
});

describe('HOOK-03: targets', () => {
  const strict = { isLoopbackAllowed: false, allowedHosts: [] };
  const sandbox = { ...strict, isLoopbackAllowed: true };
  const good = [
    'https://edge.example.org/hook',
    'https://edge.example.org:8443/a?b=c',
    'https://93.184.216.34/x',
  ];
  const bad = [
    'http://edge.example.org/',
    'ftp://edge.example.org/',
    'edge.example.org',
    '',
    'https://user:pass@edge.example.org/',
    'https://edge.example.org/#x',
    'https://localhost/',
    'https://a.localhost/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://10.0.0.1/',
    'https://192.168.1.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://[::ffff:10.0.0.1]/',
    'https://[fd00::1]/',
    'https://intranet/',
    'https://db.internal/',
    `https://edge.example.org/${'a'.repeat(2048)}`,
  ];
  for (const url of good) it(`takes ${url}`, () => assert.equal(findUrlProblem(url, strict), undefined));
  for (const url of bad)
    it(`refuses ${url.slice(0, 60)}`, () => assert.notEqual(findUrlProblem(url, strict), undefined));
  it('takes loopback, also over http, only where the sandbox allows it', () => {
    for (const url of ['http://127.0.0.1:9/x', 'http://localhost/x', 'https://[::1]/x'])
      assert.equal(findUrlProblem(url, sandbox), undefined, url);
    for (const url of ['http://10.0.0.1/', 'http://edge.example.org/', 'https://10.0.0.1/'])
      assert.notEqual(findUrlProblem(url, sandbox), undefined, url);
  });
});
