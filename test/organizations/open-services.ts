/** The services that say whose a domain, an address or a client is, over a new database. */
import { createManualClock, silentLog } from '../../src/core/index.ts';
import { createVault } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import { createOauth } from '../../src/service/oauth/index.ts';
import { createOrganizations } from '../../src/service/organizations/index.ts';
import { createTrust } from '../../src/service/trust/index.ts';
import { openTestStorage } from '../support/storage.ts';

export async function openServices() {
  const clock = createManualClock(new Date('2026-06-01T12:00:00Z'));
  const storage = await openTestStorage();
  const vault = createVault(Buffer.alloc(32, 1));
  const audit = createAudit({ storage, vault, clock, log: silentLog });
  const common = { storage, vault, clock, audit };
  return {
    ...common,
    oauth: createOauth(common),
    trust: createTrust(common),
    organizations: createOrganizations(common),
    async close(): Promise<void> {
      await audit.close();
      await storage.close();
    },
  };
}
