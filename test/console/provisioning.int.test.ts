import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type {
  AddressAnswer,
  AddressDetails,
  AddressPage,
  AddressReport,
  AnchorAnswer,
  DomainDetails,
  DomainList,
  DoneAnswer,
  EdgeAccount,
  EdgeAccountList,
  IssuedPassword,
  IssuedSecret,
  OrganizationDetails,
  OrganizationEntry,
  Usage,
} from '../../src/app/console/contract/index.ts';
import { domains } from '../../src/app/dev/index.ts';
import { monthsBefore, type MessagingTables } from '../../src/service/messaging/index.ts';
import { openAdminWorld, type AdminWorld } from './admin-world.ts';

describe('what an operator sets up from the console', () => {
  let world: AdminWorld;
  const domain = 'direct.new-clinic.example';
  before(async () => {
    world = await openAdminWorld();
  });
  after(() => world?.close());

  const change = <Body>(method: string, target: string, body?: unknown) =>
    world.call<Body>('operator', method, target, body);
  const problemsOf = (body: unknown): readonly string[] =>
    (body as { errors: { field: string }[] }).errors.map(({ field }) => field);
  /** The newest row of an action: who, and about what. */
  async function audited(action: string) {
    const { audit } = world.sandbox.world.hisp;
    await audit.flush();
    const [row] = await audit.find({ action, limit: 1 });
    return { actor: row?.actor, ...row?.objects };
  }

  it('shows what was sent, to the help desk as well, and refuses what is no month', async () => {
    const { storage } = world.sandbox.world.hisp;
    const { clientId } = world.sandbox.credentials;
    const day = `${monthsBefore(new Date(), 1)}-15`;
    await storage
      .tables<MessagingTables>()
      .insertInto('usage_day')
      .values(
        [domains.own, 'direct.other.example'].map((name) => ({
          day,
          client_id: clientId,
          organization_id: 'operator',
          domain: name,
          messages: 3,
          recipients: 4,
          octets: 5000,
          delivered: 2,
          failed: 1,
        })),
      )
      .execute();
    const month = day.slice(0, 7);
    const read = (query: string) => world.call<Usage>('help-desk', 'GET', `/usage${query}`);
    const { body } = await read(`?from=${month}&to=${month}`);
    assert.deepEqual(
      body.result.map((row) => [row.month, row.messages, row.recipients, row.octets, row.waiting]),
      [[month, 6, 8, 10_000, 2]],
    );
    const all = await read(`?from=${month}&to=${month}&by=all&domain=${domains.own.toUpperCase()}`);
    assert.deepEqual(
      all.body.result.map((row) => [row.clientId, row.clientName !== '', row.domain, row.messages]),
      [[clientId, true, domains.own, 3]],
    );
    const own = await read(`?from=${month}&to=${month}&by=organization&organization=operator`);
    assert.deepEqual(
      own.body.result.map((row) => [row.organization, row.organizationName !== '', row.messages]),
      [['operator', true, 6]],
    );
    assert.equal((await read('?from=2026-13')).status, 400);
    assert.deepEqual(problemsOf((await read('?from=2026-05&to=2026-04')).body), ['from']);
  });

  it('hosts a domain, once, and refuses what is none', async () => {
    const added = await change<DoneAnswer>('POST', '/domains', { domain: ` ${domain.toUpperCase()} ` });
    assert.deepEqual([added.status, added.body.count], [200, 1], added.text);
    const again = await change<DoneAnswer>('POST', '/domains', { domain });
    assert.deepEqual([again.status, again.body.count], [200, 0]);
    assert.equal((await change('POST', '/domains', { domain: 'no domain' })).status, 400);
    const { body } = await world.call<DomainList>('auditor', 'GET', '/domains');
    assert.ok(body.result.some((one) => one.domain === domain));
    assert.deepEqual(await audited('domain.add'), {
      actor: 'operator:script operator',
      domain,
      organization: 'operator',
    });
  });

  it('trusts a CA only at the second step, and stops trusting it', async () => {
    const { authority } = world.sandbox.world;
    const pem = `-----BEGIN CERTIFICATE-----\n${Buffer.from(authority.certificate.der).toString('base64')}\n-----END CERTIFICATE-----\n`;
    const target = `/domains/${domain}/anchors`;
    const request = { certificate: pem, direction: 'incoming' };
    const shown = await change<AnchorAnswer>('POST', target, { ...request, preview: true });
    assert.equal(shown.body.certificate.fingerprint, authority.certificate.fingerprint, shown.text);
    const details = async () => (await change<DomainDetails>('GET', `/domains/${domain}`)).body;
    assert.equal((await details()).anchors.length, 0);
    assert.equal((await change('POST', target, { ...request, preview: false })).status, 200);
    const [anchor] = (await details()).anchors;
    assert.deepEqual([anchor?.direction, anchor?.bundleId], ['incoming', '']);
    const bad = await change('POST', target, { ...request, certificate: 'none', preview: false });
    assert.deepEqual([bad.status, problemsOf(bad.body)], [400, ['certificate']]);
    // An anchor of another domain is not reached by this one's path.
    assert.equal((await change('DELETE', `/domains/${domains.own}/anchors/${anchor?.id}`)).status, 404);
    assert.equal((await change('DELETE', `${target}/${anchor?.id}`)).status, 200);
    assert.equal((await details()).anchors.length, 0);
  });

  it('follows a bundle and removes it; without a signer the URL is https', async () => {
    const target = `/domains/${domain}/bundles`;
    const request = { url: 'https://127.0.0.1:9/bundle.p7b', direction: 'both', refreshHours: 24 };
    assert.equal((await change('POST', target, { ...request, url: 'http://bundles.example/x' })).status, 400);
    assert.equal((await change('POST', target, request)).status, 200);
    const { body } = await change<DomainDetails>('GET', `/domains/${domain}`);
    assert.equal(body.bundles[0]?.url, request.url);
    assert.equal((await change('DELETE', `${target}/${body.bundles[0]?.id}`)).status, 200);
  });

  it('adds, changes, disables and finds addresses, with their entry in the directory', async () => {
    const address = `ann.lee@${domain}`;
    const target = `/addresses/${encodeURIComponent(address)}`;
    const entry = { firstName: 'Ann', lastName: 'Lee', city: 'Chicago', state: 'IL', zip: '60601' };
    const refused = await change('PUT', target, { isListed: true, entry: { ...entry, npi: '1' } });
    assert.deepEqual([refused.status, problemsOf(refused.body)], [400, ['entry.npi']], refused.text);
    assert.equal((await change('GET', target)).status, 404, 'a refused entry hosts nothing');
    const added = await change<AddressAnswer>('PUT', target, { isListed: true, entry });
    assert.equal(added.status, 200, added.text);
    const shown = await world.call<AddressDetails>('auditor', 'GET', target);
    assert.deepEqual([shown.body.status, shown.body.isListed, shown.body.entry], ['active', true, entry]);
    assert.equal(
      (await change('PUT', '/addresses/a@direct.elsewhere.example', { isListed: false })).status,
      404,
    );
    for (const name of ['bob', 'cho', 'dan'])
      await change('PUT', `/addresses/${name}@${domain}`, { isListed: false });
    const list = (query: string) =>
      world.call<AddressPage>('auditor', 'GET', `/domains/${domain}/addresses${query}`);
    const first = await list('?limit=3');
    assert.deepEqual([first.body.result.length, first.body.found, first.body.total], [3, 4, 4]);
    const second = await list(`?limit=3&cursor=${encodeURIComponent(first.body.next ?? '')}`);
    assert.deepEqual(
      [second.body.result.map((one) => one.address), second.body.next],
      [[`dan@${domain}`], null],
    );
    const found = await list('?q=LEE');
    assert.deepEqual([found.body.result.map((one) => one.address), found.body.total], [[address], 4]);

    assert.equal((await change('POST', `${target}/disable`)).status, 200);
    const disabled = await world.call<AddressDetails>('auditor', 'GET', target);
    assert.deepEqual([disabled.body.status, disabled.body.isListed], ['disabled', false]);
    assert.equal((await audited('address.disable')).actor, 'operator:script operator');
    assert.equal((await list('?status=disabled')).body.found, 1);
    // No client reads the others.
    assert.equal((await list('?status=cannot-receive')).body.found, 4);
    assert.equal((await change('POST', `${target}/enable`)).status, 200);
  });

  it('forwards the mail of an address to others of its organization, and ends that', async () => {
    const address = `bob@${domain}`;
    const target = `/addresses/${address}/forwarding`;
    const until = new Date(Date.now() + 86_400_000).toISOString();
    const rule = { deliverTo: [`cho@${domain}`, `dan@${domain}`], keepsCopy: true, until };
    const set = await change<AddressAnswer>('PUT', target, rule);
    assert.equal(set.status, 200, set.text);
    assert.match(set.body.sentence, /goes to 2 addresses/);
    const find = async () =>
      (await world.call<AddressDetails>('auditor', 'GET', `/addresses/${address}`)).body.forwarding;
    assert.deepEqual(await find(), { ...rule, from: null });
    assert.deepEqual(await audited('address.forward'), {
      actor: 'operator:script operator',
      address,
      to: rule.deliverTo.join(' '),
      keepsCopy: 'true',
      until,
    });
    for (const [body, field] of [
      [{ deliverTo: ['nobody'] }, 'deliverTo'],
      [{ deliverTo: [`nobody@${domain}`] }, 'deliverTo'],
      [{ deliverTo: [address] }, 'deliverTo'],
      [{ deliverTo: [`cho@${domain}`], until: '2020-01-01T00:00:00Z' }, 'until'],
      [{ deliverTo: [`cho@${domain}`], from: 'tomorrow' }, 'from'],
    ] as const) {
      const refused = await change('PUT', target, body);
      assert.deepEqual([refused.status, problemsOf(refused.body)], [400, [field]], refused.text);
    }
    assert.equal((await change('PUT', `/addresses/nobody@${domain}/forwarding`, rule)).status, 404);
    assert.equal((await world.call('auditor', 'PUT', target, rule)).status, 403);
    const ended = await change<AddressAnswer>('PUT', target, { deliverTo: [] });
    assert.deepEqual([ended.status, await find()], [200, null]);
  });

  it('hosts a domain and makes a client for another organization, whose mail is put on legal hold', async () => {
    const made = await change<OrganizationEntry>('POST', '/organizations', {
      id: 'lakeview',
      name: 'Lakeview',
    });
    assert.equal(made.status, 201, made.text);
    const organization = 'lakeview';
    const own = 'direct.lakeview.example';
    assert.equal((await change('POST', '/domains', { domain: own, organization })).status, 200);
    const client = await change<IssuedSecret>('POST', '/clients', {
      name: 'Lakeview EHR',
      scopes: ['messaging.api'],
      directAddresses: [`@${own}`],
      organization,
    });
    assert.equal(client.status, 201, client.text);
    const nowhere = { organization: 'nowhere' };
    assert.equal((await change('POST', '/domains', { domain: 'direct.x.example', ...nowhere })).status, 404);
    const hold = { kind: 'organization', name: organization, reason: 'Case 12' };
    assert.equal((await change('POST', '/legal-holds', hold)).status, 201);
    assert.equal((await change('POST', '/legal-holds', hold)).status, 409);
    const unknown = await change('POST', '/legal-holds', { ...hold, name: 'nowhere' });
    assert.equal(unknown.status, 400, unknown.text);
    const { body } = await change<OrganizationDetails>('GET', '/organizations/lakeview');
    assert.deepEqual(
      [body.domains, body.clients, body.legalHolds.map(({ subject, reason }) => [subject, reason])],
      [[own], [{ clientId: client.body.clientId, name: 'Lakeview EHR' }], [[organization, 'Case 12']]],
    );
    assert.deepEqual(
      (await change<OrganizationDetails>('GET', '/organizations/operator')).body.legalHolds,
      [],
    );
  });

  it('hosts the addresses of a file: first a report of each row, then what it says', async () => {
    const csv = [
      'address,first_name,last_name,npi',
      `eva@${domain},Eva,Fox,`,
      `eva@${domain},Eva,Twice,`,
      `fay@direct.elsewhere.example,Fay,Gray,`,
      `ann.lee@${domain},Ann,Lee,1`,
    ].join('\n');
    const load = (body: object) => change<AddressReport>('POST', '/addresses/import', body);
    const seen = await load({ csv, preview: true, isRowByRow: false });
    assert.equal(seen.status, 200, seen.text);
    assert.deepEqual(
      seen.body.rows.map(({ line, outcome }) => `${line} ${outcome}`),
      ['2 added', '3 refused', '4 refused', '5 refused'],
    );
    assert.ok(seen.body.rows.every(({ outcome, text }) => outcome !== 'refused' || text !== ''));
    assert.equal((await change('GET', `/addresses/eva@${domain}`)).status, 404, 'a preview stores nothing');
    const stopped = await load({ csv, preview: false, isRowByRow: false });
    assert.deepEqual([stopped.body.isStored, stopped.body.counts.refused], [false, 3]);
    assert.equal((await change('GET', `/addresses/eva@${domain}`)).status, 404);
    const stored = await load({ csv, preview: false, isRowByRow: true });
    assert.deepEqual([stored.body.isStored, stored.body.counts.added], [true, 1], stored.text);
    assert.equal((await change('GET', `/addresses/eva@${domain}`)).status, 200);
    assert.equal((await audited('address.enable')).actor, 'operator:script operator');
    const bad = await load({ csv: 'colour\nred', preview: true, isRowByRow: false });
    assert.deepEqual([bad.status, problemsOf(bad.body)], [400, ['csv']], bad.text);
    const auditor = await world.call('auditor', 'POST', '/addresses/import', {
      csv,
      preview: true,
      isRowByRow: false,
    });
    assert.equal(auditor.status, 403);
  });

  it('creates an edge account, shows each password once, changes and disables it', async () => {
    const { clientId } = world.sandbox.credentials;
    const username = `front.desk@${domains.own}`;
    const request = { clientId, username, addresses: [username], protocols: ['imap', 'submission'] };
    const issued = await change<IssuedPassword>('POST', '/edge-accounts', request);
    assert.equal(issued.status, 201, issued.text);
    assert.equal((await change('POST', '/edge-accounts', request)).status, 409);
    const foreign = await change('POST', '/edge-accounts', {
      ...request,
      username: 'x',
      addresses: ['x@direct.elsewhere.example'],
    });
    assert.deepEqual([foreign.status, problemsOf(foreign.body)], [400, ['addresses']]);
    const target = `/edge-accounts/${issued.body.accountId}`;
    const changed = await change<EdgeAccount>('PATCH', target, {
      protocols: ['pop3'],
      policies: { inbound: 'unpacked' },
    });
    assert.deepEqual(
      [changed.body.protocols, changed.body.policies.inbound, changed.body.policies.noticesInMailbox],
      [['pop3'], 'unpacked', true],
    );
    const next = await change<IssuedPassword>('POST', `${target}/passwords`);
    assert.equal(next.status, 201, next.text);
    assert.equal((await change('POST', `${target}/passwords`)).status, 409);
    assert.equal((await change('DELETE', `${target}/passwords/${issued.body.passwordId}`)).status, 200);
    const only = await change('DELETE', `${target}/passwords/${next.body.passwordId}`);
    assert.equal(only.status, 409, 'the last password stays');
    assert.equal((await change('POST', `${target}/disable`)).status, 200);
    const { body, text } = await world.call<EdgeAccountList>('auditor', 'GET', '/edge-accounts');
    const account = body.result.find((one) => one.username === username);
    assert.deepEqual(
      [account?.isEnabled, account?.passwords.map(({ passwordId }) => passwordId)],
      [false, [next.body.passwordId]],
    );
    assert.ok(!text.includes(next.body.password));
    assert.equal((await audited('edge.disable')).actor, 'operator:script operator');
  });
});
