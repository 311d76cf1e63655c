import { errorText, quoteForShell } from '../../core/index.ts';
import { certificateTypes, type DnsAnswer } from '../../lib/dns/index.ts';
import { findValidityFault, readCertificate } from '../../lib/pki/index.ts';
import { addressDnsName, findDirectAddress } from '../../lib/values/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { findingsOf, type Finding } from './findings.ts';

/** Address-bound certificates looked up for one domain. */
const maxOwners = 100;
const cacheHint = 'then wait until the TTL of the old answer is over';

/**
 * Examines the DNS of a domain: name servers, mail exchangers, and the certificates that peers encrypt to.
 */
export async function examineDns(domain: string, options: DoctorOptions): Promise<readonly Finding[]> {
  const [ns, mx, certificates] = await Promise.all([
    examineNameServers(domain, options),
    examineMailExchangers(domain, options),
    examineCertificates(domain, options),
  ]);
  return [...ns, ...mx, ...certificates];
}

async function examineNameServers(domain: string, options: DoctorOptions): Promise<readonly Finding[]> {
  const finding = findingsOf('ns', domain);
  const { config, dns } = options;
  const answer = await ask(() => dns.resolveNs(domain));
  if (typeof answer === 'string')
    return [finding.error(`The name servers cannot be looked up: ${answer}`, resolverAdvice(options))];
  const { isServing } = config.dns;
  if (answer.status !== 'found') {
    return [
      isServing
        ? finding.error(
            `No name server is delegated (${answer.status}).`,
            `In the parent zone, add: ${domain}. NS ${config.smtp.hostname}. (and its address, if the name lies in the domain)`,
          )
        : finding.note(
            'Not a zone by itself: the servers of the parent zone answer for it.',
            'Correct if they publish the CERT and MX records.',
          ),
    ];
  }
  const names = answer.records.map((name) => name.toLowerCase()).sort();
  const findings = await Promise.all(names.map((name) => examineNameServer(domain, name, options)));
  if (isServing && !names.includes(config.smtp.hostname.toLowerCase())) {
    findings.push(
      finding.warning(
        `dns.isServing is on, but the name servers are ${names.join(', ')}.`,
        `Delegate the domain to ${config.smtp.hostname}, or publish the records there and set dns.isServing to false.`,
      ),
    );
  }
  return findings;
}

async function examineNameServer(domain: string, name: string, options: DoctorOptions): Promise<Finding> {
  const finding = findingsOf('ns', domain);
  const { dns, openResolver, worldPorts } = options;
  const addresses = await ask(() => dns.resolveAddresses(name));
  if (typeof addresses === 'string' || addresses.records.length === 0) {
    return finding.error(
      `The name server ${name} has no address${typeof addresses === 'string' ? `: ${addresses}` : ''}.`,
      `Publish an A or AAAA record of ${name}; inside the domain itself, as glue in the parent zone.`,
    );
  }
  for (const host of addresses.records) {
    const server = openResolver({ host, port: worldPorts.dns });
    const soa = await ask(() => server.resolveSoa(domain));
    await server.close();
    if (typeof soa === 'string') {
      return finding.error(
        `The name server ${name} (${host}) does not answer for it on port ${worldPorts.dns}: ${soa}`,
        'Open the port for UDP and TCP, forward it to dns.port, and check that the server is running.',
      );
    }
    if (soa.status !== 'found')
      return finding.error(
        `The name server ${name} (${host}) has no SOA record of it.`,
        'Add the zone there, or remove the NS record.',
      );
  }
  return finding.ok(`${name} answers.`);
}

async function examineMailExchangers(domain: string, options: DoctorOptions): Promise<readonly Finding[]> {
  const finding = findingsOf('mx', domain);
  const { hostname } = options.config.smtp;
  const answer = await ask(() => options.dns.resolveMx(domain));
  if (typeof answer === 'string')
    return [finding.error(`MX cannot be looked up: ${answer}`, resolverAdvice(options))];
  const publish = `Publish: ${domain}. MX 10 ${hostname}.`;
  if (answer.status === 'nxdomain') return [finding.error('The domain does not exist in the DNS.', publish)];
  if (answer.status === 'nodata')
    return [
      finding.warning('No MX record: mail goes to the address of the domain name, if there is one.', publish),
    ];
  const exchangers = answer.records
    .toSorted((a, b) => a.priority - b.priority)
    .map(({ exchange }) => exchange.toLowerCase());
  if (exchangers.every((exchange) => exchange === ''))
    return [finding.error('A null MX record: the domain accepts no mail (RFC 7505).', publish)];
  const others = exchangers.filter((exchange) => exchange !== hostname.toLowerCase());
  if (others.length === 0) return [finding.ok(`MX is ${hostname}.`)];
  return [
    finding.warning(
      `MX is ${exchangers.join(', ')}, and smtp.hostname is ${hostname}.`,
      others.length < exchangers.length
        ? `Remove ${others.join(', ')}, unless it forwards mail to this server.`
        : `${publish} Leave it if ${others.join(', ')} passes mail on to this server.`,
    ),
  ];
}

async function examineCertificates(domain: string, options: DoctorOptions): Promise<readonly Finding[]> {
  const owners = await options.trust.listKeyOwners(domain);
  const findings = (
    await Promise.all(owners.slice(0, maxOwners).map((owner) => examineCertificate(owner, options)))
  ).flat();
  if (owners.length <= maxOwners) return findings;
  const rest = findingsOf('cert', domain).note(
    `Only ${maxOwners} of ${owners.length} owners of certificates were looked up.`,
    'openhisp agent discover ADDRESS looks up one.',
  );
  return [...findings, rest];
}

async function examineCertificate(owner: string, options: DoctorOptions): Promise<readonly Finding[]> {
  const finding = findingsOf('cert', owner);
  const { clock, dns, trust } = options;
  const address = findDirectAddress(owner);
  const name = address === undefined ? owner : addressDnsName(address);
  const answer = await ask(() => dns.resolveCert(name));
  if (typeof answer === 'string')
    return [finding.error(`CERT of ${name} cannot be looked up: ${answer}`, resolverAdvice(options))];
  const seen = new Set(
    answer.records
      .filter(({ certificateType }) => certificateType === certificateTypes.pkix)
      .map(({ data }) => fingerprintOf(data)),
  );
  const own = await trust.listKeyPairs(owner);
  const active = (await trust.findPublished(owner)).map(fingerprintOf);
  const known = new Set([...active, ...own.map(({ certificate }) => certificate.fingerprint)]);
  const missing = active.filter((fingerprint) => !seen.has(fingerprint));
  const foreign = [...seen].filter((fingerprint) => !known.has(fingerprint));
  const now = clock.now();
  // A pair that is active and valid now and still not published is the half of a single-use pair that signs
  // (AS-16).
  const usable = new Set(
    own
      .filter(
        ({ status, certificate }) => status === 'active' && findValidityFault(certificate, now) === undefined,
      )
      .map(({ certificate }) => certificate.fingerprint),
  );
  const surplus = [...seen].filter((fingerprint) => known.has(fingerprint) && !active.includes(fingerprint));
  const signingOnly = surplus.filter((fingerprint) => usable.has(fingerprint));
  const stale = surplus.filter((fingerprint) => !usable.has(fingerprint));
  const findings: Finding[] = [];
  if (missing.length > 0) findings.push(await missingRecord(owner, missing, options));
  if (foreign.length > 0) {
    findings.push(
      finding.error(
        `Published without a key here: ${foreign.map(shortened).join(', ')}. Mail encrypted only for it cannot be decrypted.`,
        `Remove the CERT record at ${name}, or import its key: openhisp key import ${quoteForShell(owner)}; ${cacheHint}.`,
      ),
    );
  }
  if (stale.length > 0) {
    findings.push(
      finding.warning(
        `Still published, though retired or expired: ${stale.map(shortened).join(', ')}.`,
        `Remove the CERT record at ${name}; ${cacheHint}.`,
      ),
    );
  }
  if (signingOnly.length > 0) {
    findings.push(
      finding.warning(
        `Published, though for signing only: ${signingOnly.map(shortened).join(', ')}. Peers may encrypt to it, or refuse to send.`,
        `Remove its CERT record at ${name}, and keep its key, which signs; ${cacheHint}.`,
      ),
    );
  }
  return findings.length > 0 ? findings : [finding.ok(`CERT at ${name} is the active certificate.`)];
}

async function missingRecord(
  owner: string,
  missing: readonly string[],
  options: DoctorOptions,
): Promise<Finding> {
  const finding = findingsOf('cert', owner);
  const domain = owner.slice(owner.lastIndexOf('@') + 1);
  const srv = await ask(() => options.dns.resolveSrv(`_ldap._tcp.${domain}`));
  const text = `Not published in the DNS: ${missing.map(shortened).join(', ')}.`;
  if (typeof srv !== 'string' && srv.status === 'found')
    return finding.note(
      `${text} The domain points to LDAP.`,
      'Correct if the certificate is published there.',
    );
  return finding.error(
    `${text} Peers cannot encrypt to ${owner}.`,
    options.config.dns.isServing
      ? `Delegate ${domain} to this server (see ns); ${cacheHint}.`
      : `Publish what "openhisp domain records ${quoteForShell(domain)}" prints on the name servers of ${domain}, or set dns.isServing and delegate the domain here.`,
  );
}

/** The answer of the server, or the reason why there is none. */
async function ask<T>(lookUp: () => Promise<DnsAnswer<T>>): Promise<DnsAnswer<T> | string> {
  try {
    return await lookUp();
  } catch (error) {
    return errorText(error);
  }
}

/** What to do when a query gets no answer. */
export function resolverAdvice({ config }: DoctorOptions): string {
  const { resolvers } = config.dns;
  return `Check ${resolvers.length > 0 ? `dns.resolvers (${resolvers.join(', ')})` : "the system's resolvers"} and, if they answer for other domains, the name servers of this one.`;
}

function fingerprintOf(certificate: Uint8Array): string {
  try {
    return readCertificate(certificate).fingerprint;
  } catch {
    return 'unreadable';
  }
}

const shortened = (fingerprint: string): string => fingerprint.slice(0, 16);
