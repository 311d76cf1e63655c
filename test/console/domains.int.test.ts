/** Domains and trust by the admin API: keys with their dates, DNS expected beside actual, and a key rotated by CSR and certificate. */
import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type {
  CsrAnswer,
  DomainDetails,
  DomainFindings,
  DomainKey,
  DomainList,
  DomainRecords,
} from '../../src/app/console/contract/index.ts';
import { demoAddress, domains, partners } from '../../src/app/dev/index.ts';
import {
  formatPem,
  issueDirectCertificate,
  readPem,
  readPrivateKey,
  writeTrustBundle,
} from '../../src/lib/pki/index.ts';
import { silentLog } from '../../src/core/index.ts';
import { publicKeyOfCsr } from '../support/public-key-of-csr.ts';
import { waitUntil } from '../support/processes.ts';
import { openAdminWorld, type AdminWorld } from './admin-world.ts';

const dayMs = 86_400_000;
const own = domains.own;

describe('domains in the console', () => {
  let world: AdminWorld;
  before(async () => {
    world = await openAdminWorld();
  });
  after(() => world?.close());

  const show = async () => (await world.call<DomainDetails>('auditor', 'GET', `/domains/${own}`)).body;
  const post = <Body>(target: string, body: unknown = {}, role: 'operator' | 'auditor' = 'operator') =>
    world.call<Body>(role, 'POST', `/domains/${own}${target}`, body);

  it('lists domains, and shows one with keys, anchors and addresses', async () => {
    const { body } = await world.call<DomainList>('auditor', 'GET', '/domains');
    assert.deepEqual(
      body.result.map(({ domain, level }) => [domain, level]),
      [[own, 'ok']],
    );
    const { clients } = world.sandbox.world.hisp.oauth;
    const enabled = (await clients.list()).filter(({ disabledAt }) => disabledAt === undefined);
    for (const { clientId } of enabled) await clients.disable(clientId);
    const unread = await world.call<DomainList>('auditor', 'GET', '/domains');
    assert.match(
      unread.body.result.map(({ level, text }) => `${level} ${text}`).join(),
      /^warning Nobody reads/,
    );
    for (const { clientId } of enabled) await clients.enable(clientId);
    const details = await show();
    const [key] = details.keys;
    assert.deepEqual(
      [key?.status, key?.level, key?.uses, key?.canRetire],
      ['active', 'ok', ['signing', 'encryption'], false],
    );
    assert.match(key?.certificate?.algorithm ?? '', /^RSA \d{4}$/);
    assert.ok((key?.daysLeft ?? 0) > 30 && key?.createdAt !== null);
    assert.ok(details.anchors.length > 0);
    assert.ok(details.addresses.some(({ address }) => address === demoAddress));
    assert.equal((await world.call('auditor', 'GET', '/domains/none.example')).status, 404);
    assert.equal((await world.call('help-desk', 'GET', '/domains')).status, 403);
  });

  it('compares the expected DNS records with the published ones', async () => {
    const { body } = await world.call<DomainRecords>('auditor', 'GET', `/domains/${own}/records`);
    assert.ok(body.records.length > 0);
    const cert = body.records.find(({ type, name }) => type === 'CERT' && name === own);
    assert.deepEqual([cert?.state, cert?.level], ['ok', 'ok'], JSON.stringify(cert));
    assert.ok(cert?.line.includes(cert.expected));
    const findings = await world.call<DomainFindings>('auditor', 'GET', `/domains/${own}/findings`);
    assert.ok(findings.body.findings.some(({ check, severity }) => check === 'cert' && severity === 'ok'));
    assert.ok(findings.body.findings.every(({ advice, severity }) => severity === 'ok' || advice !== ''));
  });

  it('rotates a key: request, certificate, publication, the old one retired', async () => {
    const [old] = (await show()).keys;
    assert.equal((await post('/csr', {}, 'auditor')).status, 403);
    assert.equal((await post('/csr', { owner: 'a@other.example' })).status, 400);
    const refused = await post(`/keys/${old?.id}/retire`);
    assert.equal(refused.status, 409, refused.text);

    const made = await post<CsrAnswer>('/csr', { organization: 'Riverside Clinic' });
    assert.equal(made.status, 200, made.text);
    assert.match(made.body.csr, /^-----BEGIN CERTIFICATE REQUEST-----\n/);
    assert.equal((await show()).keys.find(({ id }) => id === made.body.keyId)?.csr, made.body.csr);

    const foreign = await issue(
      publicKeyOf((await post<CsrAnswer>('/csr', { owner: demoAddress })).body.csr),
    );
    const misplaced = await post('/keys', { certificate: foreign });
    assert.equal(misplaced.status, 400, 'a certificate of the domain for the key of an address');
    assert.equal((await post('/keys', { certificate: 'no certificate' })).status, 400);
    const ownCertificate = formatPem('CERTIFICATE', world.sandbox.world.authority.certificate.der);
    assert.equal((await post('/keys', { certificate: ownCertificate })).status, 404);

    const certificate = await issue(publicKeyOf(made.body.csr));
    // A CA may send its own certificate along.
    const installed = await post<DomainKey>('/keys', { certificate: `${certificate}${ownCertificate}` });
    assert.equal(installed.status, 200, installed.text);
    assert.deepEqual([installed.body.owner, installed.body.status], [own, 'active']);
    const again = await post('/keys', { certificate });
    assert.equal(again.status, 404);
    const both = (await show()).keys.filter(({ status, owner }) => status === 'active' && owner === own);
    assert.deepEqual(
      both.map(({ canRetire }) => canRetire),
      [true, true],
    );

    const done = await post<{ sentence: string }>(`/keys/${old?.id}/retire`);
    assert.equal(done.status, 200, done.text);
    assert.equal((await show()).keys.find(({ id }) => id === old?.id)?.status, 'retired');
    const published = async (): Promise<boolean> => {
      const { body } = await world.call<DomainRecords>('auditor', 'GET', `/domains/${own}/records`);
      const certs = body.records.filter(({ type, name }) => type === 'CERT' && name === own);
      return certs.length === 1 && certs[0]?.state === 'ok' && certs[0].actual?.length === 1;
    };
    await waitUntil(published, { timeoutMs: 30_000, what: 'the new key in the DNS' });

    // Mail goes on with the key that never left.
    const sent = (await world.client.post('/messaging/dirmsg/send_ccda', {
      fromDirectAddress: demoAddress,
      toDirectAddress: partners.processed,
      messageSubject: 'after the rotation',
      messageBody: 'text',
    })) as { messageId?: string };
    assert.ok(sent.messageId);

    const { audit } = world.sandbox.world.hisp;
    await audit.flush();
    for (const action of ['key.request', 'key.add', 'key.retire']) {
      const [row] = await audit.find({ action, limit: 1 });
      assert.equal(row?.actor, 'operator:script operator', action);
    }
  });

  it('deletes a key that waits in vain', async () => {
    const waiting = (await show()).keys.filter(({ status }) => status === 'requested');
    assert.equal(waiting.length, 1);
    const done = await post(`/keys/${waiting[0]?.id}/retire`);
    assert.equal(done.status, 200, done.text);
    assert.equal((await show()).keys.filter(({ status }) => status === 'requested').length, 0);
    assert.equal((await post('/keys/none/retire')).status, 404);
  });

  it('lists the changes of a bundle by its refreshes', async () => {
    const { trust } = world.sandbox.world.hisp;
    const [anchor] = await trust.listAnchors(own);
    const id = await trust.addBundle({ domain: own, url: 'https://bundles.example/a.p7b' });
    const body = writeTrustBundle(anchor === undefined ? [] : [anchor.certificate]);
    await trust.refreshBundles(async () => ({ status: 200, headers: {}, body }) as never, silentLog, id);
    const bundle = (await show()).bundles.find((one) => one.id === id);
    assert.deepEqual(
      bundle?.changes.map(({ added, removed }) => [added, removed]),
      [[[anchor?.certificate.subject], []]],
    );
    assert.deepEqual([bundle?.level, bundle?.anchorCount], ['ok', 1]);
    await trust.removeBundle(id);
  });

  it('shows no private key', () => {
    for (const answer of world.answers) assert.doesNotMatch(answer, /PRIVATE KEY|sealed/);
  });

  /** As a CA does: for the key of the request, in the name of the domain. */
  async function issue(publicKey: KeyObject): Promise<string> {
    const { certificate, name } = world.sandbox.world.authority;
    const key = await readFile(path.join(world.folder, 'pki', `${name}-ca.key`));
    const now = Date.now();
    const issued = issueDirectCertificate({
      boundTo: { domain: own },
      publicKey,
      issuer: { certificate, privateKey: readPrivateKey(key) },
      notBefore: new Date(now - dayMs),
      notAfter: new Date(now + 900 * dayMs),
    });
    return formatPem('CERTIFICATE', issued.der);
  }
});

/** The subject's public key of a request (PKCS #10). */
function publicKeyOf(csr: string): KeyObject {
  return publicKeyOfCsr(readPem(csr)[0]?.der ?? Buffer.alloc(0));
}
