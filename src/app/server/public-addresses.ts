import { isIP } from 'node:net';
import { isLoopback, type Config } from '../../platform/index.ts';

/**
 * The IP addresses at which others find `smtp.hostname`: as set, or the one that the mail server listens on;
 * empty if unknown.
 */
export function publicAddressesOf({ smtp }: Config): readonly string[] {
  if (smtp.publicAddresses.length > 0) return smtp.publicAddresses;
  const isOne = isIP(smtp.host) !== 0 && !isLoopback(smtp.host) && !/^(?:0\.0\.0\.0|[0:]+)$/.test(smtp.host);
  return isOne ? [smtp.host] : [];
}
