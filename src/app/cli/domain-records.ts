import { addressDnsName, parseDirectAddress } from '../../lib/values/index.ts';
import type { Config } from '../../platform/index.ts';
import { TrustError, type Trust } from '../../service/trust/index.ts';

const ttlSeconds = 300;

/**
 * The records of a hosted domain in the form of a zone file: MX, CERT for the domain and for each address with a certificate
 * of its own, SRV for LDAP; with a name server of ours the delegation instead. Throws TRUST_DOMAIN_UNKNOWN.
 */
export async function listDomainRecords(
  trust: Trust,
  name: string,
  { dns, ldap, smtp }: Config,
): Promise<{ readonly records: readonly string[]; readonly notes: readonly string[] }> {
  const domain = name.toLowerCase().replace(/\.$/, '');
  if (!(await trust.isHostedDomain(domain)))
    throw new TrustError('TRUST_DOMAIN_UNKNOWN', `${domain} is not hosted: openhisp domain add ${domain}`);
  const line = (owner: string, type: string, data: string): string =>
    `${owner}. ${ttlSeconds} IN ${type} ${data}`;
  const notes =
    smtp.hostname === 'localhost'
      ? ['smtp.hostname is localhost: set it to the public name of the mail server, and run this again.']
      : [];
  if (dns.isServing)
    return {
      records: [line(domain, 'NS', `${smtp.hostname}.`)],
      notes: [
        ...notes,
        'This server answers for the domain itself: put the delegation into the zone above it.',
      ],
    };
  const certs = async (owner: string, at: string): Promise<string[]> =>
    (await trust.findPublished(owner)).map((der) =>
      line(at, 'CERT', `1 0 0 ${Buffer.from(der).toString('base64')}`),
    );
  const records = [line(domain, 'MX', `10 ${smtp.hostname}.`), ...(await certs(domain, domain))];
  for (const { address } of await trust.listAddresses(domain)) {
    const parsed = parseDirectAddress(address);
    records.push(...(await certs(parsed, addressDnsName(parsed))));
  }
  if (ldap.isServing) records.push(line(`_ldap._tcp.${domain}`, 'SRV', `0 0 ${ldap.port} ${smtp.hostname}.`));
  if (records.length === 1)
    notes.push(`${domain} has no published certificate yet: openhisp key import ${domain} …`);
  return { records, notes };
}
