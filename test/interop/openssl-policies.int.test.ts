/** Certificate policies, mappings and their constraints: this library and OpenSSL agree about random paths (RFC 5280 §6.1). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fc } from '../support/fast-check.ts';
import { der } from '../../src/lib/asn1/index.ts';
import {
  formatPem,
  validatePath,
  type Certificate,
  type CertificateRequest,
} from '../../src/lib/pki/index.ts';
import { at, createTestPki, spareAuthority } from '../direct/support/test-pki.ts';
import { findProgram } from '../support/processes.ts';

const openssl = findProgram('openssl');
const anyPolicy = '2.5.29.32.0';
const policies = [anyPolicy, '1.2.3.1', '1.2.3.2', '1.2.3.3'];

type RawExtension = NonNullable<CertificateRequest['extensions']>[number];

interface Rules {
  readonly policies: readonly string[];
  readonly mappings: readonly (readonly [string, string])[];
  readonly requireExplicit: number | undefined;
  readonly inhibitMapping: number | undefined;
  readonly inhibitAny: number | undefined;
  readonly isSelfIssued: boolean;
}

const count = fc.option(fc.nat(2), { nil: undefined, freq: 2 });
const rules: fc.Arbitrary<Rules> = fc.record({
  policies: fc.uniqueArray(fc.constantFrom(...policies), { maxLength: 3 }),
  mappings: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.uniqueArray(
        fc.tuple(fc.constantFrom(...policies.slice(1)), fc.constantFrom(...policies.slice(1))),
        { minLength: 1, maxLength: 2, selector: (pair) => pair.join() },
      ),
    },
  ),
  requireExplicit: count,
  inhibitMapping: count,
  inhibitAny: count,
  isSelfIssued: fc.boolean(),
});

function extensionsOf(of: Rules, isCa: boolean): RawExtension[] {
  const extension = (oid: string, value: Buffer): RawExtension => ({ oid, isCritical: true, value });
  const number = (tag: number, value: number | undefined): Buffer[] =>
    value === undefined ? [] : [der.implicit(tag, false, Buffer.of(value))];
  const limits = [...number(0, of.requireExplicit), ...number(1, of.inhibitMapping)];
  // OpenSSL maps a policy that the CA has only by the special one although that one is inhibited or not expected.
  const mappings = of.mappings.filter(([issuer]) => of.policies.includes(issuer));
  return [
    ...(isCa && mappings.length > 0
      ? [extension('2.5.29.33', der.sequence(...mappings.map((pair) => der.sequence(...pair.map(der.oid)))))]
      : []),
    ...(limits.length > 0 ? [extension('2.5.29.36', der.sequence(...limits))] : []),
    ...(isCa && of.inhibitAny !== undefined ? [extension('2.5.29.54', der.integer(of.inhibitAny))] : []),
  ];
}

test(
  'TRUST-01 certificate policies: the same verdict as OpenSSL about random paths',
  { skip: openssl === undefined && 'openssl is not installed' },
  async (t) => {
    const pki = await createTestPki();
    const folder = mkdtempSync(path.join(os.tmpdir(), 'openhisp-policies-'));
    t.after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
    const file = (name: string, certificates: readonly Certificate[]): string => {
      const target = path.join(folder, name);
      writeFileSync(target, certificates.map((one) => formatPem('CERTIFICATE', one.der)).join(''));
      return target;
    };
    const root = file('root.pem', [pki.root.certificate]);
    const isValidForOpenssl = (leaf: Certificate, between: readonly Certificate[]): boolean => {
      const time = String(Math.floor(at.getTime() / 1000));
      const args = ['-policy_check', '-policy', anyPolicy, '-attime', time, '-CAfile', root];
      const others = ['-untrusted', file('between.pem', between), file('leaf.pem', [leaf])];
      return spawnSync(openssl ?? '', ['verify', ...args, ...others]).status === 0;
    };
    const verdicts = { valid: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(fc.tuple(rules, rules, rules, rules), async (all) => {
        let issuer = pki.root;
        const between: Certificate[] = [];
        for (const [index, of] of all.slice(0, 3).entries()) {
          const above = issuer;
          issuer = spareAuthority(pki, index, {
            issuer: above,
            policyOids: of.policies,
            extensions: extensionsOf(of, true),
            // Self-issued: the name of the CA above with another key, which no rule counts.
            ...(of.isSelfIssued && index > 0 && { subject: [['CN', `spare ${index - 1}`]] }),
          });
          if (of.isSelfIssued && index > 0 && !issuer.certificate.isSelfIssued) return;
          between.push(issuer.certificate);
        }
        const last = all[3];
        const leaf = pki.issue({ issuer, policyOids: last.policies, extensions: extensionsOf(last, false) });
        const isValid = await validatePath(leaf, 'signing', {
          at,
          anchors: [pki.root.certificate],
          candidates: between,
        }).then(
          () => true,
          (error: unknown) => {
            assert.equal((error as { code?: string }).code, 'PKI_POLICY_MISSING');
            return false;
          },
        );
        assert.equal(isValid, isValidForOpenssl(leaf, between), JSON.stringify(all));
        verdicts[isValid ? 'valid' : 'refused']++;
      }),
      { numRuns: 150 },
    );
    assert.ok(verdicts.valid > 20 && verdicts.refused > 20, JSON.stringify(verdicts));
  },
);
