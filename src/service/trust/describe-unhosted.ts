import { quoteForShell } from '../../core/index.ts';
import { findDirectAddress } from '../../lib/values/index.ts';
import type { Addresses } from './addresses.ts';

/**
 * A sentence for each of the given addresses and domains (`@domain`) of a client that is not hosted. A client
 * may be prepared before them, but a misspelt one shows only when a send is refused or mail is missed.
 */
export async function describeUnhosted(
  trust: Pick<Addresses, 'isHostedDomain' | 'findAddress'>,
  owned: readonly string[],
): Promise<readonly string[]> {
  const sentences = new Set<string>();
  for (const own of owned) {
    const domain = own.slice(own.lastIndexOf('@') + 1).toLowerCase();
    if (!(await trust.isHostedDomain(domain))) {
      sentences.add(
        `${domain} is not a hosted domain. Check the spelling, or host it: openhisp domain add ${quoteForShell(domain)}.`,
      );
      continue;
    }
    const address = own.startsWith('@') ? undefined : findDirectAddress(own);
    if (address === undefined) continue;
    const hosted = await trust.findAddress(address);
    if (hosted === undefined)
      sentences.add(
        `${address} is not a hosted address, so it cannot send and mail to it is refused. Check the spelling, or host it: openhisp address add ${quoteForShell(address)}.`,
      );
    else if (hosted.status !== 'active')
      sentences.add(
        `${address} is disabled, so it cannot send and mail to it is refused. Enable it: openhisp address add ${quoteForShell(address)}.`,
      );
  }
  return [...sentences];
}
