/** A real BIND loads what `openhisp domain records` prints, whatever is in the name of an address. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listDomainRecords } from '../../src/app/doctor/index.ts';
import { createDnsResolver } from '../../src/lib/dns/index.ts';
import { createAuthority, createKeyPair, issueDirectCertificate } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { openServices } from '../organizations/open-services.ts';
import { startNamed } from '../support/named.ts';
import { needsPrograms } from '../support/processes.ts';

const domain = 'direct.example.org';
const mailHost = `mx.${domain}`;
/** Characters that mean something in a zone file. */
const oddAddress = parseDirectAddress(`o'neil+$x@${domain}`);

test('BIND loads the output of "domain records"', needsPrograms('named'), async (t) => {
  const services = await openServices();
  t.after(() => services.close());
  const { trust, clock } = services;
  const [caKey, keys] = [await createKeyPair(), await createKeyPair()];
  const dates = { notBefore: clock.now(), notAfter: new Date(clock.now().getTime() + 86_400_000) };
  const authority = createAuthority({ subject: [['CN', 'Test CA']], ...caKey, ...dates });
  await trust.addDomain(domain);
  await trust.putAddress(oddAddress);
  const published: Uint8Array[] = [];
  for (const boundTo of [{ domain }, { address: oddAddress }]) {
    const issuer = { certificate: authority, privateKey: caKey.privateKey };
    const { der } = issueDirectCertificate({ boundTo, publicKey: keys.publicKey, issuer, ...dates });
    await trust.addKeyPair('domain' in boundTo ? domain : oddAddress, der, keys.privateKey);
    published.push(new Uint8Array(der));
  }
  const config = loadConfig({}, undefined, {
    dataDir: '.',
    'smtp.hostname': mailHost,
    'smtp.publicAddresses': '127.0.0.1',
  });
  const lines = (await listDomainRecords(trust, domain, config)).records.map(({ line }) => line);
  assert.deepEqual(
    lines.map((line) => line.split(' ').slice(0, 5).join(' ').slice(0, 60)),
    [
      `${domain}. 300 IN MX 10`,
      `${mailHost}. 300 IN A 127.0.0.1`,
      `${domain}. 300 IN CERT 1`,
      String.raw`o\'neil\+\$x.${domain}. 300 IN CERT 1`,
    ],
  );
  const named = await startNamed([{ name: domain, lines }]);
  t.after(() => named.stop());
  const dns = createDnsResolver({ servers: [{ host: '127.0.0.1', port: named.port }] });
  t.after(() => dns.close());
  const found = [domain, oddAddress.replace('@', '.')].map(
    async (name) => (await dns.resolveCert(name)).records,
  );
  assert.deepEqual(
    (await Promise.all(found)).map((records) => records.map(({ data }) => data)),
    published.map((der) => [der]),
    named.output(),
  );
});
