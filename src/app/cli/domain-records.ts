import { isIPv6 } from 'node:net';
import { addressDnsName, parseDirectAddress } from '../../lib/values/index.ts';
import type { Config } from '../../platform/index.ts';
import { TrustError, type Trust } from '../../service/trust/index.ts';
import { publicAddressesOf } from '../server/index.ts';

const ttlSeconds = 300;

/**
 * The records of a hosted domain in the form of a zone file: MX, addresses of the mail server, CERT for the domain and for each address
 * with its own certificate, SRV for LDAP. With a name server of ours the delegation instead, with glue where the name needs it.
 * Throws TRUST_DOMAIN_UNKNOWN.
 */
export async function listDomainRecords(
  trust: Trust,
  name: string,
  config: Config,
): Promise<{ readonly records: readonly string[]; readonly notes: readonly string[] }> {
  const { dns, ldap, smtp } = config;
  const domain = name.toLowerCase().replace(/\.$/, '');
  if (!(await trust.isHostedDomain(domain)))
    throw new TrustError('TRUST_DOMAIN_UNKNOWN', `${domain} is not hosted: openhisp domain add ${domain}`);
  const hostname = smtp.hostname.toLowerCase();
  const addresses = publicAddressesOf(config).map((address) =>
    writeLine(hostname, isIPv6(address) ? 'AAAA' : 'A', address),
  );
  const notes: string[] = [];
  if (hostname === 'localhost')
    notes.push(
      'smtp.hostname is localhost: set it to the public name of the mail server, and run this again.',
    );
  else if (addresses.length === 0)
    notes.push(
      `Also publish A or AAAA records of ${hostname}; with smtp.publicAddresses they are printed here.`,
    );
  if (dns.isServing) {
    notes.push('This server answers for the domain itself: put these records into the zone above it.');
    return { records: [writeLine(domain, 'NS', `${hostname}.`), ...addresses], notes };
  }
  const certificates = await listCertificates(trust, domain);
  if (certificates.length === 0)
    notes.push(`${domain} has no published certificate yet: openhisp key import ${domain} …`);
  const directories = ldap.isServing
    ? [writeLine(`_ldap._tcp.${domain}`, 'SRV', `0 0 ${ldap.port} ${hostname}.`)]
    : [];
  const records = [writeLine(domain, 'MX', `10 ${hostname}.`), ...addresses, ...certificates, ...directories];
  return { records, notes };
}

async function listCertificates(trust: Trust, domain: string): Promise<readonly string[]> {
  const write = async (owner: string, at: string): Promise<string[]> =>
    (await trust.findPublished(owner)).map((der) =>
      writeLine(at, 'CERT', `1 0 0 ${Buffer.from(der).toString('base64')}`),
    );
  const lines = await write(domain, domain);
  for (const { address } of await trust.listAddresses(domain)) {
    const parsed = parseDirectAddress(address);
    lines.push(...(await write(parsed, addressDnsName(parsed))));
  }
  return lines;
}

function writeLine(owner: string, type: string, data: string): string {
  // A local part may contain characters that mean something in a zone file (RFC 1035 §5.1).
  const name = owner.replaceAll(/[^A-Za-z0-9._-]/g, String.raw`\$&`);
  return `${name}. ${ttlSeconds} IN ${type} ${data}`;
}
