import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { FetchError } from './errors.ts';
import { isPublicAddress } from './public-address.ts';

/** Finds the IP addresses of a host name. */
export type FindAddresses = (host: string) => Promise<readonly string[]>;

export interface TargetOptions {
  /** Allows any address: for sandbox and tests. Default false. */
  readonly allowPrivate?: boolean;
  /** Host names or addresses that may be private, in lower case: an operator's own receivers (HOOK-03). */
  readonly allowedHosts?: readonly string[];
  /** Default: the system's resolver. */
  readonly findAddresses?: FindAddresses;
}

export interface TargetGuard {
  /** Parses and checks what can be checked without the DNS: scheme, credentials, literal addresses. */
  parse(url: string): URL;
  /**
   * The addresses that a connection to the host may use, found and checked now. One that is not public
   * refuses the whole host: a name that mixes both is an attack or a mistake.
   */
  findTargets(host: string): Promise<readonly string[]>;
}

export function createTargetGuard(options: TargetOptions): TargetGuard {
  const allowedHosts = new Set(options.allowedHosts ?? []);
  const findAddresses = options.findAddresses ?? findSystemAddresses;
  const checkAddress = (address: string, host: string) => {
    const isAllowed =
      options.allowPrivate === true || allowedHosts.has(withoutDot(host)) || allowedHosts.has(address);
    if (isAllowed || isPublicAddress(address)) return;
    throw new FetchError('FETCH_TARGET_FORBIDDEN', `${host} leads to an address that is not public`, {
      fields: { host, address },
    });
  };
  return {
    parse(text) {
      const url = parseHttpUrl(text);
      const host = hostOf(url);
      if (isIP(host) !== 0) checkAddress(host, host);
      return url;
    },
    async findTargets(host) {
      const addresses = await findOrRefuse(findAddresses, host);
      for (const address of addresses) checkAddress(address, host);
      return addresses;
    },
  };
}

/** The host without brackets or closing dot, in lower case as the URL parser leaves it. */
export function hostOf(url: URL): string {
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  return withoutDot(host);
}

function withoutDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

function parseHttpUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new FetchError('FETCH_REQUEST_INVALID', 'The URL cannot be read');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new FetchError('FETCH_REQUEST_INVALID', 'The URL is neither http nor https');
  }
  if (url.username !== '' || url.password !== '') {
    throw new FetchError('FETCH_REQUEST_INVALID', 'The URL carries credentials');
  }
  return url;
}

async function findOrRefuse(findAddresses: FindAddresses, host: string): Promise<readonly string[]> {
  try {
    const addresses = await findAddresses(host);
    if (addresses.length > 0) return addresses;
  } catch (cause) {
    if (cause instanceof FetchError) throw cause;
    throw new FetchError('FETCH_HOST_UNKNOWN', `The address of ${host} cannot be found`, { cause });
  }
  throw new FetchError('FETCH_HOST_UNKNOWN', `${host} has no address`);
}

/**
 * Asks the system's resolver, which may hold one of few threads for many seconds: for hosts that no outsider
 * has chosen.
 */
export async function findSystemAddresses(host: string): Promise<string[]> {
  const entries = await systemLookup(host, { all: true });
  return entries.map((entry) => entry.address);
}
