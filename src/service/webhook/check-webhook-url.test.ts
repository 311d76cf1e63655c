import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUrlProblem, normalizeUrl } from './check-webhook-url.ts';

test('HOOK-03: a loopback name is one with any dot at its end and in any case', () => {
  for (const url of [
    'https://localhost./',
    'https://LOCALHOST/',
    'https://a.localhost./',
    'https://127.0.0.1./',
  ])
    assert.equal(findUrlProblem(url, false), 'The host is not public.', url);
  for (const url of ['https://printer.local./', 'https://intranet./'])
    assert.equal(findUrlProblem(url, true), 'The host is not public.', url);
});

test('control characters, white space and backslashes are refused, which a URL parser would drop or change', () => {
  for (const url of [
    'https://hook\n.example.org/',
    ' https://hook.example.org/',
    'https:\\\\hook.example.org/',
    'https://hook.example.org/a\tb',
  ])
    assert.match(findUrlProblem(url, false) ?? '', /control character/, JSON.stringify(url));
});

test('ports of mail and other line protocols are refused', () => {
  for (const port of [22, 25, 110, 143, 389, 465, 587, 993])
    assert.equal(
      findUrlProblem(`https://hook.example.org:${port}/`, false),
      `Port ${port} is not for webhooks.`,
    );
  for (const port of [443, 8443, 3000])
    assert.equal(findUrlProblem(`https://hook.example.org:${port}/`, false), undefined);
});

test('the stored form has a lower-case host without dot at its end, and no default port', () => {
  assert.equal(normalizeUrl('https://Hook.Example.ORG.:443/a/../b?c=D'), 'https://hook.example.org/b?c=D');
  assert.equal(normalizeUrl('http://127.1:8081/hook'), 'http://127.0.0.1:8081/hook');
});
