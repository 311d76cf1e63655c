/** The edge accounts of a HISP in its own process: one for mail and lines, one that sends by lines alone. */
import type { Hisp } from '../../src/app/server/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';

/** Of both accounts. */
export const edgePassword = 'a password for the edges';

export const lineAddressOf = (domain: string): string => `line@${domain}`;

export async function createEdgeAccounts(
  hisp: Hisp,
  clientId: string,
  { domain, address }: { readonly domain: string; readonly address: string },
): Promise<void> {
  const line = lineAddressOf(domain);
  await hisp.trust.putAddress(parseDirectAddress(line), 'active');
  const common = { clientId, password: edgePassword };
  await hisp.edges.accounts.create({
    ...common,
    username: address,
    addresses: [address],
    protocols: ['line', 'submission', 'imap', 'pop3'],
  });
  await hisp.edges.accounts.create({ ...common, username: line, addresses: [line], protocols: ['line'] });
}
