/** Every state of an address, found in a real BIND and OpenLDAP; nothing is taken from a file. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Storage } from '../../src/platform/index.ts';
import { createTestPki, past, type TestPki } from '../direct/support/test-pki.ts';
import { readDomainFigures, readVerificationStatus } from '../../src/service/verification/index.ts';
import { certLine } from '../support/named.ts';
import { needsPrograms } from '../support/processes.ts';
import { startSlapd } from '../support/slapd.ts';
import { openTestStorage } from '../support/storage.ts';
import {
  listOf,
  readStates,
  startRunning,
  startWorld,
  untilChecked,
  type VerificationWorld,
} from './start-world.ts';

const addresses = [
  ...['ann', 'ben', 'own'].map((name) => `${name}@domain.example`),
  'cat@single.example',
  'dan@single.example',
  'eve@expired.example',
  'fay@stranger.example',
  'gus@nothing.example',
  'hal@dead.example',
  'ida@ldap.example',
  'jon@ldap.example',
  'kim@ldapdead.example',
];

describe('the states of addresses', needsPrograms('named', 'slapd', 'slapadd'), () => {
  let pki: TestPki;
  let world: VerificationWorld;
  let storage: Storage;
  let close: () => Promise<void>;

  before(async () => {
    pki = await createTestPki();
    const issue = (changes: Parameters<TestPki['issue']>[0]): Uint8Array => pki.issue(changes).der;
    const ofDomain = (domain: string): Uint8Array => issue({ rfc822Names: [], dnsNames: [domain] });
    const slapd = await startSlapd([
      { mail: 'ida@ldap.example', certificates: [issue({ rfc822Names: ['ida@ldap.example'] })] },
    ]);
    world = await startWorld({
      anchors: [pki.root.certificate],
      dnsTimeoutMs: 2_000,
      delayOf: (name) => (name.endsWith('dead.example') && !name.includes('ldapdead') ? Infinity : 0),
      zones: [
        {
          name: 'domain.example',
          lines: [
            certLine('@', ofDomain('domain.example')),
            certLine('own', issue({ rfc822Names: ['own@domain.example'], issuer: pki.untrustedCa })),
          ],
        },
        { name: 'single.example', lines: [certLine('cat', issue({ rfc822Names: ['cat@single.example'] }))] },
        {
          name: 'expired.example',
          lines: [
            certLine('@', issue({ rfc822Names: [], dnsNames: ['expired.example'], notAfter: past(1) })),
          ],
        },
        {
          name: 'stranger.example',
          lines: [
            certLine(
              '@',
              issue({ rfc822Names: [], dnsNames: ['stranger.example'], issuer: pki.untrustedCa }),
            ),
          ],
        },
        { name: 'nothing.example', lines: [] },
        { name: 'dead.example', lines: [] },
        { name: 'ldap.example', lines: [`_ldap._tcp IN SRV 0 0 ${slapd.port} ns`] },
        { name: 'ldapdead.example', lines: ['_ldap._tcp IN SRV 0 0 1 ns'] },
      ],
    });
    storage = await openTestStorage();
    close = async () => {
      await world.close();
      await slapd.stop();
      await storage.close();
    };
  });
  after(() => close());

  test('does nothing before it is started', async () => {
    const verification = world.start(storage, () => listOf(addresses));
    await verification.refresh();
    assert.deepEqual(world.proxy.seen, []);
  });

  test('finds each state by asking, an address-bound certificate before that of its domain', async () => {
    await startRunning(storage);
    await untilChecked(storage, 8);
    assert.deepEqual(await readStates(storage), {
      'ann@domain.example': 'trusted PKI_REVOCATION_UNCHECKABLE',
      'ben@domain.example': 'trusted PKI_REVOCATION_UNCHECKABLE',
      'cat@single.example': 'trusted PKI_REVOCATION_UNCHECKABLE',
      'dan@single.example': 'no-certificate DIRECT_RECIPIENT_CERTIFICATE_MISSING',
      'eve@expired.example': 'expired PKI_EXPIRED',
      'fay@stranger.example': 'discoverable PKI_ISSUER_NOT_FOUND',
      'gus@nothing.example': 'no-certificate DIRECT_RECIPIENT_CERTIFICATE_MISSING',
      'hal@dead.example': 'unreachable DIRECT_RECIPIENT_UNDECIDED',
      'ida@ldap.example': 'trusted PKI_REVOCATION_UNCHECKABLE',
      'jon@ldap.example': 'no-certificate DIRECT_RECIPIENT_CERTIFICATE_MISSING',
      'kim@ldapdead.example': 'unreachable DIRECT_RECIPIENT_UNDECIDED',
      'own@domain.example': 'discoverable PKI_ISSUER_NOT_FOUND',
    });
    const status = await readVerificationStatus(storage);
    assert.deepEqual(status.counts, {
      trusted: 4,
      discoverable: 2,
      expired: 1,
      'no-certificate': 3,
      unreachable: 2,
    });
    assert.deepEqual([status.isRunning, status.domains, status.checkedDomains], [true, 8, 8]);
    const [first] = await readDomainFigures(storage, 1);
    assert.deepEqual(
      [first?.domain, first?.counts.unreachable, first?.counts.trusted],
      ['dead.example', 1, 0],
    );
  });
});
