/** The zones that a node answers for, over a trust that another node changes. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog, systemClock, type Clock } from '../../src/core/index.ts';
import { openAuthority } from '../../src/app/dev/index.ts';
import { createHostedZones } from '../../src/app/server/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { openVault, parseMasterKey } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import { createTrust } from '../../src/service/trust/index.ts';
import { createMigratedDatabase } from '../support/storage.ts';

async function openNodes(t: TestContext, clock: Clock = systemClock) {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-zones-'));
  const database = await createMigratedDatabase();
  const masterKey = parseMasterKey(randomBytes(32).toString('base64'));
  const open = async () => {
    const storage = await database.open();
    await storage.migrate();
    const vault = await openVault({ storage, masterKey, clock });
    const audit = createAudit({ storage, vault, clock, log: silentLog, flushMs: 50 });
    t.after(async () => {
      await audit.close();
      await storage.close();
    });
    return { storage, trust: createTrust({ storage, vault, clock, audit }) };
  };
  const makeAuthority = (issuingClock: Clock) =>
    openAuthority({ folder, name: 'test', baseUrl: 'http://127.0.0.1:1', clock: issuingClock });
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return { open, makeAuthority };
}

test('zones follow changes of another node with a higher serial, and read nothing for a thousand unknown names', async (t) => {
  const { open, makeAuthority } = await openNodes(t);
  const [here, there] = [await open(), await open()];
  const authority = await makeAuthority(systemClock);
  const domain = 'direct.example';
  await here.trust.addDomain(domain);
  await here.trust.putAddress(parseDirectAddress(`jane.doe@${domain}`));
  const listZones = createHostedZones({ trust: here.trust, mailHostname: `mail.${domain}` });
  const find = async (name: string) => (await listZones())[0]?.findRecords(name);
  const serial = async (): Promise<number> => {
    const soa = (await find(domain))?.find((record) => record.type === 'SOA');
    assert.ok(soa?.type === 'SOA');
    return soa.data.serial;
  };
  const before = await serial();
  assert.equal((await find(domain))?.filter((record) => record.type === 'CERT').length, 0);
  assert.deepEqual(await find(`doe.${domain}`), []);
  assert.equal(await find(`nobody.${domain}`), undefined);

  const counted = here.storage.counts().statements;
  for (let index = 0; index < 1000; index++) assert.equal(await find(`n${index}.${domain}`), undefined);
  // The revision is read again each second; that is all.
  assert.ok(here.storage.counts().statements - counted < 100);

  const pair = await authority.issue({ domain });
  await there.trust.addKeyPair(domain, pair.certificate.der, pair.privateKey);
  while ((await serial()) === before) await sleep(20);
  assert.ok((await serial()) > before);
  assert.equal((await find(domain))?.filter((record) => record.type === 'CERT').length, 1);
  const [key] = await there.trust.listKeyPairs(domain);
  await there.trust.retireKeyPair(key?.id ?? '', { isForced: true });
  while ((await find(domain))?.some((record) => record.type === 'CERT') === true) await sleep(20);
});

test('a certificate that expires is published for a minute at most when another one is valid', async (t) => {
  let nowMs = Date.now();
  const dayMs = 86_400_000;
  const { open, makeAuthority } = await openNodes(t, { now: () => new Date(nowMs) });
  const { trust } = await open();
  const domain = 'direct.example';
  await trust.addDomain(domain);
  // What the authority issues is valid for 730 days.
  const authority = await makeAuthority({ now: () => new Date(nowMs - 729 * dayMs) });
  const old = await authority.issue({ domain });
  const next = await (await makeAuthority({ now: () => new Date(nowMs - dayMs) })).issue({ domain });
  for (const pair of [old, next]) await trust.addKeyPair(domain, pair.certificate.der, pair.privateKey);
  const listZones = createHostedZones({
    trust,
    mailHostname: `mail.${domain}`,
    clock: { now: () => new Date(nowMs) },
  });
  const published = async () => {
    const records = (await (await listZones())[0]?.findRecords(domain)) ?? [];
    return records.filter((record) => record.type === 'CERT').length;
  };
  assert.equal(await published(), 2);
  nowMs += 2 * dayMs;
  assert.equal(await published(), 1);
});
