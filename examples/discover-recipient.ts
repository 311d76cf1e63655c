/**
 * Finds the certificate of a Direct address in the DNS, and whether a message may be encrypted to it. A DNS server on the
 * loopback publishes the zone; with `servers` of a real recursive resolver the same code finds any HISP.
 */
import { systemClock } from '../src/core/index.ts';
import { createDiscovery, resolveRecipient } from '../src/lib/direct/index.ts';
import {
  certificateTypes,
  createDnsResolver,
  createDnsServer,
  createStaticZone,
  type DnsRecord,
} from '../src/lib/dns/index.ts';
import { addressDnsName, parseDirectAddress } from '../src/lib/values/index.ts';
import { createLdapClient } from '../src/lib/ldap/index.ts';
import { makeAuthority, makeIdentity } from './support.ts';

const zoneName = 'direct.beta.example';
const bob = parseDirectAddress(`bob@${zoneName}`);
const authority = await makeAuthority('Example root');
const { certificate } = await makeIdentity(bob, authority);
const soa = { primaryServer: zoneName, mailbox: `hostmaster.${zoneName}`, serial: 1 };
const times = { refreshSeconds: 3600, retrySeconds: 600, expireSeconds: 86_400, minimumSeconds: 60 };
const cert = { certificateType: certificateTypes.pkix, keyTag: 0, algorithm: 0, data: certificate.der };
const records: readonly DnsRecord[] = [
  { name: zoneName, type: 'SOA', ttlSeconds: 60, data: { ...soa, ...times } },
  { name: addressDnsName(bob), type: 'CERT', ttlSeconds: 60, data: cert },
];
const zone = createStaticZone(zoneName, records);
const server = await createDnsServer({ host: '127.0.0.1', port: 0, zones: () => [zone] });
const dns = createDnsResolver({ servers: [{ host: '127.0.0.1', port: server.port }] });

const discovery = createDiscovery({ dns, ldap: createLdapClient({ dns }), clock: systemClock });
for (const address of [bob, parseDirectAddress(`nobody@${zoneName}`)]) {
  const found = await resolveRecipient(address, {
    discovery,
    at: new Date(),
    anchors: [authority.certificate],
    policy: { revocation: 'off' },
  });
  const steps = found.steps.map(({ source, outcome }) => `${source} ${outcome}`).join(', ');
  const result = found.outcome === 'usable' ? 'usable' : `refused, ${found.reason}`;
  console.log(`${address}: ${result} (${steps})`);
}
await dns.close();
await server.close();
