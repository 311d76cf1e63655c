import { isIP } from 'node:net';
import { isPublicAddress } from '../fetch/index.ts';
import { DnsError, type DnsResolver, type MxRecord } from '../dns/index.ts';
import { SmtpError } from './errors.ts';
import { maxAddressesPerHost, maxMailHosts } from './limits.ts';

/** One address to try. Example: `{ name: 'mx.example.org', address: '192.0.2.1' }`. */
export interface MailHost {
  /** The exchanger's name; the domain itself when it has no MX. */
  readonly name: string;
  readonly address: string;
}

/** The addresses of a domain's mail hosts, in the order to try them. */
export interface MailHosts {
  readonly hosts: readonly [MailHost, ...MailHost[]];
  /** Why the addresses of a further host could not be found out: those that are known do not speak for it. */
  readonly unresolved?: unknown;
}

/**
 * The addresses that take a domain's mail, in the order to try them (RFC 5321 §5.1): MX by priority, equal
 * ones shuffled, else the domain's own addresses. Throws `SMTP_DOMAIN_UNKNOWN` (permanent) for a domain that
 * does not exist, `SMTP_NO_MAIL_HOST` (permanent) for one without address, `SMTP_NULL_MX` (permanent) for one
 * with a null MX (RFC 7505); a transient {@link DnsError} when the DNS could not answer.
 */
export async function resolveMailHosts(
  domain: string,
  dns: Pick<DnsResolver, 'resolveMx' | 'resolveAddresses'>,
  random: () => number = Math.random,
): Promise<MailHosts> {
  const mx = await dns.resolveMx(domain);
  if (mx.status === 'nxdomain')
    throw new SmtpError('SMTP_DOMAIN_UNKNOWN', `${domain} does not exist`, { fields: { domain } });
  if (mx.status === 'nodata') return findAddresses(domain, [{ priority: 0, exchange: domain }], dns);
  const exchangers = mx.records.filter((record) => record.exchange !== '');
  if (exchangers.length === 0)
    throw new SmtpError('SMTP_NULL_MX', `${domain} takes no mail (null MX)`, { fields: { domain } });
  return findAddresses(domain, sortExchangers(exchangers, random), dns);
}

/**
 * The hosts with public addresses: the owner of a domain's MX must not be able to choose a machine of our
 * network. Throws `SMTP_MAIL_HOST_PRIVATE` (permanent) if none is, and the transient error of one that may
 * be.
 */
export function requirePublicHosts(domain: string, found: MailHosts): MailHosts {
  const [first, ...others] = found.hosts.filter(({ address }) => isPublicAddress(address));
  if (first !== undefined) return { ...found, hosts: [first, ...others] };
  if (found.unresolved !== undefined) throw found.unresolved;
  throw new SmtpError('SMTP_MAIL_HOST_PRIVATE', `the mail hosts of ${domain} are not at public addresses`, {
    fields: { domain },
  });
}

/**
 * The addresses of the smart host for all outgoing mail, named by the operator: no MX is looked up, and it
 * may be on a private address. Throws `SMTP_UNREACHABLE` (transient, since an operator can correct it) if the
 * name has no address.
 */
export async function resolveRelay(
  name: string,
  dns: Pick<DnsResolver, 'resolveAddresses'>,
): Promise<MailHosts> {
  const addresses = name === 'localhost' ? ['127.0.0.1'] : await findHostAddresses(name, dns);
  const [first, ...others] = addresses.map((address) => ({ name, address }));
  if (first !== undefined) return { hosts: [first, ...others] };
  throw new SmtpError('SMTP_UNREACHABLE', `the relay ${name} has no address`, { fields: { host: name } });
}

function sortExchangers(records: readonly MxRecord[], random: () => number): MxRecord[] {
  return records
    .map((record) => ({ record, lot: random() }))
    .sort((a, b) => a.record.priority - b.record.priority || a.lot - b.lot)
    .slice(0, maxMailHosts)
    .map(({ record }) => record);
}

async function findAddresses(
  domain: string,
  exchangers: readonly MxRecord[],
  dns: Pick<DnsResolver, 'resolveAddresses'>,
): Promise<MailHosts> {
  const results = await Promise.allSettled(
    exchangers.map((record) => findHostAddresses(record.exchange, dns)),
  );
  const hosts = results.flatMap((result, index) => {
    const exchanger = exchangers[index];
    if (result.status === 'rejected' || exchanger === undefined) return [];
    return result.value.map((address) => ({ name: exchanger.exchange, address }));
  });
  const [first, ...others] = hosts;
  const failed = results.find((result) => result.status === 'rejected');
  if (first !== undefined)
    return {
      hosts: [first, ...others],
      ...(failed !== undefined && { unresolved: failed.reason as unknown }),
    };
  // Nothing found, but not every query was answered: this is not yet "no host".
  if (failed !== undefined) throw failed.reason;
  throw new SmtpError('SMTP_NO_MAIL_HOST', `${domain} has no mail host with an address`, {
    fields: { domain },
  });
}

async function findHostAddresses(
  name: string,
  dns: Pick<DnsResolver, 'resolveAddresses'>,
): Promise<readonly string[]> {
  // An address in place of a name violates RFC 1035, but occurs in practice and is harmless to read.
  if (isIP(name) !== 0) return [name];
  try {
    return (await dns.resolveAddresses(name)).records.slice(0, maxAddressesPerHost);
  } catch (error) {
    if (error instanceof DnsError && !error.isTransient) return [];
    throw error;
  }
}
