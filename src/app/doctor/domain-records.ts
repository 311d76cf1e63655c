import { isIPv6 } from 'node:net';
import { addressDnsName, isQualifiedDomain, parseDirectAddress } from '../../lib/values/index.ts';
import { isPublicAddress } from '../../lib/fetch/index.ts';
import type { Config } from '../../platform/index.ts';
import { TrustError, type Trust } from '../../service/trust/index.ts';
import { publicAddressesOf, type ExpectedRecord } from '../server/index.ts';
import { quoteForShell } from '../../core/index.ts';

const ttlSeconds = 300;

/** A record that the DNS must have, also as a line of a zone file. */
export type DomainRecord = ExpectedRecord;

/**
 * The records of a hosted domain in the form of a zone file: MX, addresses of the mail server, CERT for the
 * domain and for each address with its own certificate, SRV for LDAP. With a name server of ours the
 * delegation instead, with glue where the name needs it. Throws TRUST_DOMAIN_UNKNOWN.
 */
export async function listDomainRecords(
  trust: Trust,
  name: string,
  config: Config,
): Promise<{ readonly records: readonly DomainRecord[]; readonly notes: readonly string[] }> {
  const { dns, ldap, smtp } = config;
  const domain = name.toLowerCase().replace(/\.$/, '');
  if (!(await trust.isHostedDomain(domain)))
    throw new TrustError('TRUST_DOMAIN_UNKNOWN', `${domain} is not a hosted domain.`);
  const hostname = smtp.hostname.toLowerCase();
  const addresses = publicAddressesOf(config)
    // Behind a translating router the address that the server listens on is of no use to others.
    .filter((address) => smtp.publicAddresses.length > 0 || isPublicAddress(address))
    .map((address) => writeRecord(hostname, isIPv6(address) ? 'AAAA' : 'A', address));
  const notes: string[] = [];
  // Nobody could reach the mail server by such a name, so no record may name it.
  const isNamed = isQualifiedDomain(hostname);
  if (!isNamed)
    notes.push(
      `smtp.hostname is ${hostname}: set it to the public name of the mail server, and run this again. The records that name it are left out.`,
    );
  else if (addresses.length === 0)
    notes.push(
      `Also publish A or AAAA records of ${hostname}; with smtp.publicAddresses they are printed here.`,
    );
  if (dns.isServing) {
    notes.push('This server is the name server of the domain: put these records into the parent zone.');
    return { records: isNamed ? [writeRecord(domain, 'NS', `${hostname}.`), ...addresses] : [], notes };
  }
  const certificates = await listCertificates(trust, domain);
  if (certificates.length === 0)
    notes.push(`${domain} has no published certificate yet: openhisp key import ${quoteForShell(domain)} …`);
  const directories =
    ldap.isServing && isNamed
      ? [writeRecord(`_ldap._tcp.${domain}`, 'SRV', `0 0 ${ldap.port} ${hostname}.`)]
      : [];
  const records = [
    ...(isNamed ? [writeRecord(domain, 'MX', `10 ${hostname}.`), ...addresses] : []),
    ...certificates,
    ...directories,
  ];
  return { records, notes };
}

async function listCertificates(trust: Trust, domain: string): Promise<readonly DomainRecord[]> {
  const write = async (owner: string, at: string): Promise<DomainRecord[]> =>
    (await trust.findPublished(owner)).map((der) =>
      writeRecord(at, 'CERT', `1 0 0 ${Buffer.from(der).toString('base64')}`),
    );
  const records = await write(domain, domain);
  for (const { address } of await trust.listAddresses(domain)) {
    const parsed = parseDirectAddress(address);
    records.push(...(await write(parsed, addressDnsName(parsed))));
  }
  return records;
}

function writeRecord(owner: string, type: DomainRecord['type'], data: string): DomainRecord {
  // A local part may contain characters that mean something in a zone file (RFC 1035 §5.1).
  const name = owner.replaceAll(/[^A-Za-z0-9._-]/g, String.raw`\$&`);
  return { owner, type, ttlSeconds, data, line: `${name}. ${ttlSeconds} IN ${type} ${data}` };
}
