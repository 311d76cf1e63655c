import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUrlProblem, normalizeUrl, type TargetRules } from './check-webhook-url.ts';

const strict: TargetRules = { isLoopbackAllowed: false, allowedHosts: [] };
const sandbox: TargetRules = { ...strict, isLoopbackAllowed: true };

test('HOOK-03: a loopback name is one with any dot at its end and in any case', () => {
  for (const url of [
    'https://localhost./',
    'https://LOCALHOST/',
    'https://a.localhost./',
    'https://127.0.0.1./',
  ])
    assert.equal(findUrlProblem(url, strict), 'The host is not public.', url);
  for (const url of ['https://printer.local./', 'https://intranet./'])
    assert.equal(findUrlProblem(url, sandbox), 'The host is not public.', url);
});

test('HOOK-03: hosts that the operator allows may be private; all other rules stay', () => {
  const rules = { ...strict, allowedHosts: ['ehr.internal', '10.1.2.3', 'fd00::1'] };
  for (const url of ['https://EHR.internal./hook', 'https://10.1.2.3:8443/', 'https://[fd00::1]/'])
    assert.equal(findUrlProblem(url, rules), undefined, url);
  for (const [url, problem] of [
    ['https://other.internal/', 'The host is not public.'],
    ['https://10.1.2.4/', 'The host is not public.'],
    ['http://ehr.internal/', 'The URL must begin with https://.'],
    ['file:///etc/passwd', 'The URL must begin with https://.'],
    ['https://ehr.internal:25/', 'Port 25 is not for webhooks.'],
  ] as const)
    assert.equal(findUrlProblem(url, rules), problem, url);
});

test('control characters, white space and backslashes are refused, which a URL parser would drop or change', () => {
  for (const url of [
    'https://hook\n.example.org/',
    ' https://hook.example.org/',
    'https:\\\\hook.example.org/',
    'https://hook.example.org/a\tb',
  ])
    assert.match(findUrlProblem(url, strict) ?? '', /control character/, JSON.stringify(url));
});

test('ports of mail and other line protocols are refused', () => {
  for (const port of [22, 25, 110, 143, 389, 465, 587, 993])
    assert.equal(
      findUrlProblem(`https://hook.example.org:${port}/`, strict),
      `Port ${port} is not for webhooks.`,
    );
  for (const port of [443, 8443, 3000])
    assert.equal(findUrlProblem(`https://hook.example.org:${port}/`, strict), undefined);
});

test('the stored form has a lower-case host without dot at its end, and no default port', () => {
  assert.equal(normalizeUrl('https://Hook.Example.ORG.:443/a/../b?c=D'), 'https://hook.example.org/b?c=D');
  assert.equal(normalizeUrl('http://127.1:8081/hook'), 'http://127.0.0.1:8081/hook');
});
