import { isIP } from 'node:net';
import { errorText } from '../../core/index.ts';
import type { DnsResolver } from '../../lib/dns/index.ts';
import { isPublicAddress } from '../../lib/fetch/index.ts';
import { isQualifiedDomain } from '../../lib/values/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { resolverAdvice } from './examine-dns.ts';
import { findingsOf, type Finding } from './findings.ts';

/**
 * Examines what other mail servers look up about the one that calls them: the name that it gives in EHLO
 * (`smtp.hostname`), and the names of its public addresses (PTR). With a relay that is the relay's.
 */
export async function examineSender(options: DoctorOptions): Promise<readonly Finding[]> {
  const { hostname, relayHost } = options.config.smtp;
  const publicAddresses = options.config.smtp.publicAddresses.map(shortestForm);
  // A name that is none is told where the listeners are.
  if (relayHost !== undefined || !isQualifiedDomain(hostname)) return [];
  const finding = findingsOf('sender', hostname);
  const resolved = await lookUp(() => options.dns.resolveAddresses(hostname));
  if (typeof resolved === 'string')
    return [finding.error(`The EHLO name cannot be looked up: ${resolved}`, resolverAdvice(options))];
  if (resolved.length === 0)
    return [
      finding.error(
        'This server says in EHLO that it is called so, and the name has no address: other HISPs refuse its mail.',
        `Publish A or AAAA records of ${hostname} with the addresses from which mail is sent.`,
      ),
    ];
  const missing = publicAddresses.filter((address) => !resolved.includes(address));
  const ehlo =
    missing.length === 0
      ? finding.ok(`The EHLO name has the address ${resolved.join(', ')}.`)
      : finding.warning(
          `The EHLO name leads to ${resolved.join(', ')}, not to ${missing.join(', ')} of smtp.publicAddresses.`,
          `Publish all of them at ${hostname}, or correct smtp.publicAddresses.`,
        );
  const addresses = [...new Set([...publicAddresses, ...resolved])].filter(
    (address) => isIP(address) !== 0 && isPublicAddress(address),
  );
  const names = await Promise.all(addresses.map((address) => examineAddress(address, options)));
  return [ehlo, ...names];
}

/** As DNS records are read here. An address that is none, or has a zone, stays as it is. */
function shortestForm(address: string): string {
  const url = `http://[${address}]`;
  return isIP(address) === 6 && URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : address;
}

async function examineAddress(address: string, options: DoctorOptions): Promise<Finding> {
  const { hostname } = options.config.smtp;
  const finding = findingsOf('ptr', address);
  const names = await lookUp(() => options.dns.resolvePtr(address));
  if (typeof names === 'string')
    return finding.error(`The name of the address cannot be looked up: ${names}`, resolverAdvice(options));
  const advice = `Ask whoever owns the address, such as your provider, for the PTR record ${hostname}.`;
  if (names.length === 0)
    return finding.warning('The address has no name (PTR): many mail servers refuse its mail.', advice);
  if (names.some((name) => name.toLowerCase() === hostname.toLowerCase()))
    return finding.ok(`PTR is ${hostname}, as in EHLO.`);
  const confirmed = await Promise.all(
    names.map(async (name) => {
      const found = await lookUp(() => options.dns.resolveAddresses(name));
      return typeof found !== 'string' && found.includes(address);
    }),
  );
  return confirmed.includes(true)
    ? finding.note(`PTR is ${names.join(', ')}, and EHLO says ${hostname}.`, advice)
    : finding.warning(
        `PTR is ${names.join(', ')}, which does not lead back to the address: many mail servers refuse its mail.`,
        advice,
      );
}

/** The records, or why they cannot be read. */
async function lookUp(
  ask: () => ReturnType<DnsResolver['resolveAddresses']>,
): Promise<readonly string[] | string> {
  try {
    return (await ask()).records;
  } catch (error) {
    return errorText(error);
  }
}
