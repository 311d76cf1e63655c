/** Results as the job would have stored them, for tests of what shows them. */
import path from 'node:path';
import { openStorage } from '../../src/platform/index.ts';
import type { VerificationTables, VerifiedState } from '../../src/service/verification/tables.ts';

/** After so long a search reads states again. */
export const statesFreshMs = 1100;

export async function createStatesForTest(
  dataDir: string,
  states: readonly (readonly [address: string, state: VerifiedState, reason: string])[],
): Promise<void> {
  const storage = await openStorage({ file: path.join(dataDir, 'openhisp.db') });
  const db = storage.tables<VerificationTables>();
  const domainOf = (address: string): string => address.slice(address.indexOf('@') + 1);
  const domain = {
    name_server: 'dns.example',
    next_attempt_at: 0,
    lease_token: null,
    lease_until: 0,
    done_up_to: '',
    failures: 0,
    asks_all: 0,
    cycle: 1,
    cycle_started_at: 0,
    queries: 3,
    checked_at: 0,
  };
  for (const id of new Set(states.map(([address]) => domainOf(address))))
    await db
      .insertInto('verification_domain')
      .values({ id, ...domain })
      .execute();
  for (const [address_key, state, reason] of states)
    await db
      .insertInto('verification_address')
      .values({ address_key, domain: domainOf(address_key), state, reason, checked_at: 0, changed_at: 0 })
      .execute();
  await storage.close();
}
