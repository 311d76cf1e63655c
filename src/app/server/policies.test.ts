import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completePolicy } from '../../lib/direct/policy.ts';
import { defaultMessagePolicy } from '../../lib/direct/index.ts';
import { defaultTrustPolicy } from '../../lib/pki/index.ts';
import { defaultSettings, type Config } from '../../platform/index.ts';
import { messagePolicyOf, trustPolicyOf } from './policies.ts';

const withTrust = (changes: Partial<Config['trust']>) => ({
  trust: { ...defaultSettings.trust, ...changes },
});

test('by default the policies are those of the libraries', () => {
  assert.deepEqual({ ...defaultTrustPolicy, ...trustPolicyOf(withTrust({})) }, defaultTrustPolicy);
  assert.deepEqual(completePolicy(messagePolicyOf(withTrust({}))), defaultMessagePolicy);
});

test('AS-12, AS-19, AS-20, TRUST-07: settings demand more of certificates, or less', () => {
  const changed = (changes: Partial<Config['trust']>) =>
    Object.entries(trustPolicyOf(withTrust(changes))).filter(
      ([name, value]) => defaultTrustPolicy[name as keyof typeof defaultTrustPolicy] !== value,
    );
  assert.deepEqual(changed({ requiresSubjectMatch: true }), [['requireSubjectMatch', true]]);
  assert.deepEqual(changed({ acceptsSha1Certificates: true }), [['allowSha1Certificates', true]]);
  assert.deepEqual(changed({ failsOnUnknownRevocation: true }), [['revocation', 'hard-fail']]);
  assert.deepEqual(changed({ requiresDirectTrustPolicies: true }), [
    ['requireKeyUsage', true],
    ['requiredPolicies', ['1.3.6.1.4.1.41179.1.*', '1.3.6.1.4.1.41179.2.*']],
  ]);
});

test('AS-52, VER-02: SHA-1 is accepted only by the setting, MD5 never; so is refusing what is not wrapped', () => {
  const { crypto, ...rest } = completePolicy(messagePolicyOf(withTrust({ acceptsSha1Signatures: true })));
  assert.deepEqual([...crypto.weakDigests], ['sha1']);
  assert.deepEqual({ ...rest, crypto: defaultMessagePolicy.crypto }, defaultMessagePolicy);
  assert.equal(completePolicy(messagePolicyOf(withTrust({ requiresWrapping: true }))).acceptUnwrapped, false);
});
