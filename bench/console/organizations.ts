/**
 * 100 organizations with 1,000 addresses each, against the same addresses in one: what the console and the
 * provisioning API read and count, and searches over many messages, whole and of one organization.
 * `node bench/console/organizations.ts [--messages 300000]`. Makes databases in a temporary folder and deletes them.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import { createVault, openStorage } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import { createProvisioning, importAddresses } from '../../src/service/hosting/index.ts';
import { createMessagingOperator } from '../../src/service/messaging/index.ts';
import { createOauth } from '../../src/service/oauth/index.ts';
import { createOrganizations } from '../../src/service/organizations/index.ts';
import { createTrust } from '../../src/service/trust/index.ts';
import { fillDatabase, recipientOf, uuidOf } from '../../test/support/many-messages.ts';

const { values: options } = parseArgs({ options: { messages: { type: 'string', default: '300000' } } });
const messages = Number(options.messages);
const organizationCount = 100;
const addressesEach = 1_000;
const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-organizations-'));
const gazetteer = loadBuiltInGazetteer();
// The first ten are those that the messages are sent from.
const domainOf = (n: number): string => `own${n}.example`;

async function measure(isOne: boolean): Promise<ReadonlyMap<string, number>> {
  const file = path.join(folder, `${isOne ? 'one' : 'many'}.db`);
  const first = await openStorage({ file });
  await first.migrate();
  await first.close();
  await fillDatabase({ file }, messages);
  const storage = await openStorage({ file });
  const vault = createVault(randomBytes(32));
  const common = { storage, vault, clock: systemClock, audit: undefined as never };
  const audit = createAudit({ ...common, log: silentLog });
  const services = { ...common, audit };
  const trust = createTrust(services);
  const organizations = createOrganizations(services);
  const oauth = createOauth(services);
  const idOf = (n: number): string => (isOne ? 'operator' : `org-${n}`);
  const beganMs = performance.now();
  for (let n = 0; n < organizationCount; n++) {
    if (!isOne)
      await organizations.create({ id: idOf(n), name: `Organization ${n}`, limits: { addresses: 2000 } });
    await trust.addDomain(domainOf(n), idOf(n));
    const rows = Array.from(
      { length: addressesEach },
      (_unused, index) => `s${index}@${domainOf(n)},Name${index},98101`,
    );
    const { counts } = await importAddresses(
      { storage, audit, trust, clock: systemClock, gazetteer },
      Readable.from([Buffer.from(['address,last name,zip', ...rows].join('\r\n'))]),
    );
    if (counts.added !== addressesEach) throw new Error(JSON.stringify(counts));
  }
  const importedMs = performance.now() - beganMs;
  const { clientId } = await oauth.clients.create({
    name: 'EHR',
    organizationId: idOf(3),
    scopes: ['provisioning'],
  });
  const caller = { clientId, organizationId: idOf(3) };
  const provisioning = createProvisioning({ ...services, trust, gazetteer });
  const operator = createMessagingOperator({
    ...services,
    emit: () => {},
    trust: { findSigningKeys: async () => [], listAnchors: async () => [] },
    webhooks: { notifyIn: async () => {} },
    operator: 'operator:bench',
  });
  const scoped = operator.within({
    organizationId: idOf(3),
    organizations: new Set([idOf(3)]),
    domains: new Set([domainOf(3)]),
    clients: new Set([clientId, 'client-3', 'client-13']),
  });
  let put = 0;
  const works: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['organizations, all', () => organizations.list()],
    ['domains and their owners', () => trust.findOwners()],
    ['addresses counted by domain', () => trust.countAddresses()],
    ['active addresses counted by organization', () => trust.countActiveAddresses()],
    ['limits nearly reached', () => organizations.findNearLimits(trust.countActiveAddresses)],
    ['addresses of a domain', () => trust.listAddresses(domainOf(3))],
    ['provisioning: a page of 100', () => provisioning.list(caller, { domain: domainOf(3) })],
    ['provisioning: one shown', () => provisioning.get(caller, `s5@${domainOf(3)}`)],
    [
      'provisioning: one changed',
      () => provisioning.put(caller, `s5@${domainOf(3)}`, { directory: { lastName: `Lee${put++}` } }),
    ],
    ['search: newest of all', () => operator.search({ limit: 50 }, { isRefresh: true })],
    ['search: message id', () => operator.search({ text: uuidOf(1000), limit: 50 }, { isRefresh: true })],
    ['search: recipient', () => operator.search({ text: recipientOf(5), limit: 50 }, { isRefresh: true })],
    ['search: failed', () => operator.search({ state: 'failed', limit: 50 }, { isRefresh: true })],
    ['search of one organization: newest', () => scoped.search({ limit: 50 }, { isRefresh: true })],
    [
      'search of one organization: failed',
      () => scoped.search({ state: 'failed', limit: 50 }, { isRefresh: true }),
    ],
    [
      'search of one organization: recipient',
      () => scoped.search({ text: recipientOf(5), limit: 50 }, { isRefresh: true }),
    ],
  ];
  const medians = new Map([['100,000 addresses imported, in 100 files', importedMs]]);
  for (const [name, work] of works) {
    const times: number[] = [];
    for (let run = 0; run < 11; run++) {
      const start = performance.now();
      await work();
      times.push(performance.now() - start);
    }
    medians.set(name, times.toSorted((a, b) => a - b)[5] ?? 0);
  }
  await audit.close();
  await storage.close();
  return medians;
}

try {
  const [one, many] = [await measure(true), await measure(false)];
  console.log(`| Work, ${messages} messages | One organization | 100 organizations |\n|---|---|---|`);
  for (const [name, ms] of one)
    console.log(`| ${name} | ${ms.toFixed(1)} ms | ${many.get(name)?.toFixed(1)} ms |`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
