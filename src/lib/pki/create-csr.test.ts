import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childAt, readAsn1 } from '../asn1/index.ts';
import { createCsr, createKeyPair } from './index.ts';
import { formatName, readRelativeNames } from './distinguished-name.ts';

test('the organization comes before the common name in the subject, and both are cut to 64 characters', async () => {
  const keys = await createKeyPair({ curve: 'P-256' });
  const boundTo = { domain: `Direct.${'a'.repeat(60)}.example.org` };
  const commonName = boundTo.domain.toLowerCase().slice(0, 64);
  const subjectOf = (organization?: string): string =>
    formatName(
      readRelativeNames(childAt(childAt(readAsn1(createCsr({ boundTo, ...keys, organization })), 0), 1)),
    );
  assert.equal(subjectOf(), `CN=${commonName}`);
  assert.equal(subjectOf('Example Clinic'), `O=Example Clinic, CN=${commonName}`);
  assert.equal(subjectOf('x'.repeat(65)), `O=${'x'.repeat(64)}, CN=${commonName}`);
});
