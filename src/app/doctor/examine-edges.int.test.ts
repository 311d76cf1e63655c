import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createServerFiles, startTestEdges } from '../../../test/edges/start-edges.ts';
import { alice, anna } from '../../../test/messaging/start-messaging.ts';
import { freePort } from '../../../test/support/processes.ts';
import { loadConfig } from '../../platform/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { examineEdges } from './examine-edges.ts';

test('edges that do not answer, another program at their port, and accounts that nobody can use are found', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-edges-'));
  t.after(() => rm(folder, { recursive: true, maxRetries: 5 }));
  const [tlsKeyFile, tlsCertificateFile] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
  const files = await createServerFiles();
  await writeFile(tlsKeyFile, files.key);
  await writeFile(tlsCertificateFile, files.cert);
  const world = await startTestEdges();
  t.after(() => world.close());
  const find = async (settings: Readonly<Record<string, string>>): Promise<string[]> => {
    const config = loadConfig({}, undefined, {
      dataDir: folder,
      'edge.isServing': 'true',
      'edge.host': '127.0.0.1',
      'edge.protocols': 'imaps',
      'edge.tlsKeyFile': tlsKeyFile,
      'edge.tlsCertificateFile': tlsCertificateFile,
      ...settings,
    });
    const { trust, oauth, edges } = world;
    const options = { config, trust, clients: oauth.clients, edgeAccounts: edges.accounts, timeoutMs: 5_000 };
    const findings = await examineEdges(options as unknown as DoctorOptions);
    return findings.map(({ severity, subject, text }) => `${severity} ${subject}: ${text}`);
  };
  const imapsPort = String(world.running.ports.imaps);
  // The test's edges have a certificate of their own.
  assert.match(
    (await find({ 'edge.imapsPort': imapsPort }))[0] ?? '',
    /^error imaps: .* has another certificate/,
  );
  await writeFile(tlsKeyFile, world.tls.key);
  await writeFile(tlsCertificateFile, world.tls.cert);
  assert.match((await find({ 'edge.imapsPort': imapsPort }))[0] ?? '', /^ok imaps: /);
  const unused = String(await freePort());
  assert.match(
    (await find({ 'edge.imapsPort': unused }))[0] ?? '',
    /^error imaps: Nothing answers at .*: ECONNREFUSED/,
  );
  assert.deepEqual(await find({ 'edge.isServing': 'false' }), []);

  await world.createAccount();
  await world.createAccount({ username: anna, addresses: [anna] });
  const off = { 'edge.isServing': 'false' };
  assert.deepEqual(await find(off), ['note : No edge is served by these settings, for 2 active accounts.']);
  await world.oauth.clients.update('clinic', { directAddresses: [alice] });
  await world.trust.putAddress(alice as never, 'disabled');
  const { accountId } = await world.edges.accounts.get(alice);
  await world.storage
    .tables<{ edge_password: { account_id: string } }>()
    .deleteFrom('edge_password')
    .where('account_id', '=', accountId)
    .execute();
  assert.deepEqual((await find(off)).slice(1).toSorted(), [
    `error ${alice}: It has no password: nobody can sign in.`,
    `error ${alice}: ${alice} is no active address here: mail to it and from it is refused.`,
    `error ${anna}: None of its addresses belongs to its client: it can neither send nor receive.`,
  ]);
  await world.edges.accounts.disable(anna);
  await world.oauth.clients.disable('clinic');
  assert.match((await find(off)).join('\n'), /warning .*Its client clinic is disabled/);
});
