/** Our client against OpenLDAP, and ldapsearch against our responder. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from 'ldapts';
import { createLdapClient, createLdapResponder, type LdapTarget } from '../../src/lib/ldap/index.ts';
import { createCertificate, createKeyPair } from '../../src/lib/pki/index.ts';
import { needsPrograms, runProgram } from '../support/processes.ts';
import { startSlapd, type SlapdEntry } from '../support/slapd.ts';

// OpenLDAP reads the certificates that it is given, so they have to be real ones.
const { publicKey, privateKey } = await createKeyPair({ curve: 'P-256' });
const certificateFor = (name: string, nameCount = 1): Uint8Array =>
  createCertificate({
    subject: [['CN', name]],
    publicKey,
    privateKey,
    notBefore: new Date('2026-01-01T00:00:00Z'),
    notAfter: new Date('2030-01-01T00:00:00Z'),
    rfc822Names: Array.from({ length: nameCount }, (_, index) => `n${index}@direct.example.org`),
  }).der;

const client = createLdapClient({
  dns: {
    resolveAddresses: async () => ({
      status: 'found',
      records: ['127.0.0.1'],
      ttlSeconds: 60,
      transport: 'udp',
    }),
  },
  allowPrivate: true,
});
const target = (port: number, priority = 0): LdapTarget => ({
  host: 'ldap.example.org',
  port,
  priority,
  weight: 0,
});
const hex = (certificates: readonly Uint8Array[]) =>
  certificates.map((one) => Buffer.from(one).toString('hex')).toSorted();

async function start(t: TestContext, entries: readonly SlapdEntry[], suffix?: string): Promise<number> {
  const slapd = await startSlapd(entries, suffix);
  t.after(() => slapd.stop());
  return slapd.port;
}

test('OpenLDAP answers our client', needsPrograms('slapd', 'slapadd'), async (t) => {
  const address = certificateFor('bob');
  const second = certificateFor('bob again', 150);
  const domain = certificateFor('domain');
  const port = await start(t, [
    { mail: 'bob@direct.example.org', certificates: [address, second] },
    { mail: 'direct.example.org', certificates: [domain] },
    { mail: 'bare@direct.example.org', certificates: [] },
  ]);
  const find = (mail: string) => client.findCertificates({ targets: [target(port)], mail });

  await t.test('DISC-08, D3: the certificates of an address, all of them, octet by octet', async () => {
    const answer = await find('bob@direct.example.org');
    assert.equal(answer.status, 'found');
    assert.deepEqual(hex(answer.certificates), hex([address, second]));
  });
  await t.test('AS-02: an address in another case', async () => {
    assert.equal((await find('BOB@Direct.Example.Org')).certificates.length, 2);
  });
  await t.test('D4: the certificate of a domain', async () => {
    assert.deepEqual(hex((await find('direct.example.org')).certificates), hex([domain]));
  });
  await t.test('D13: nothing under that name, or an entry without a certificate', async () => {
    assert.equal((await find('nobody@direct.example.org')).status, 'absent');
    assert.equal((await find('bare@direct.example.org')).status, 'absent');
    assert.equal((await find('*')).status, 'absent');
  });
  await t.test('D10: the second server when the first is down', async () => {
    const answer = await client.findCertificates({
      targets: [target(1), target(port, 1)],
      mail: 'direct.example.org',
    });
    assert.deepEqual(
      answer.attempts.map(({ outcome }) => outcome),
      ['unreachable', 'found'],
    );
  });
});

test('DISC-08: another naming context is found by the root', needsPrograms('slapd', 'slapadd'), async (t) => {
  const certificate = certificateFor('bob');
  const port = await start(
    t,
    [{ mail: 'bob@direct.example.org', certificates: [certificate] }],
    'o=Some Hospital,c=US',
  );
  const answer = await client.findCertificates({ targets: [target(port)], mail: 'bob@direct.example.org' });
  assert.deepEqual(hex(answer.certificates), hex([certificate]));
});

test('HOST-03: an independent client library reads our responder', async (t) => {
  const certificate = certificateFor('bob');
  const responder = await createLdapResponder({
    host: '127.0.0.1',
    port: 0,
    findCertificates: () => [certificate],
  });
  t.after(() => responder.close());
  const other = new Client({ url: `ldap://127.0.0.1:${responder.port}`, timeout: 5_000 });
  t.after(() => other.unbind());
  await other.bind('', '');
  const { searchEntries } = await other.search('o=openhisp', {
    filter: '(&(mail=bob@direct.example.org)(userCertificate=*))',
    attributes: ['userCertificate;binary'],
  });
  assert.deepEqual(
    searchEntries.map((entry) => entry['userCertificate;binary']),
    [Buffer.from(certificate)],
  );
  await assert.rejects(other.bind('cn=admin', 'secret'), /invalid/i);
});

interface Searched {
  readonly status: number | null;
  readonly text: string;
}

async function ldapsearch(port: number, ...args: string[]): Promise<Searched> {
  const common = ['-x', '-LLL', '-o', 'ldif-wrap=no', '-o', 'nettimeout=5', '-H', `ldap://127.0.0.1:${port}`];
  const result = await runProgram('ldapsearch', [...common, ...args]);
  return { status: result.status, text: `${result.stdout.toString()}${result.stderr.toString()}` };
}

test('ldapsearch reads our responder', needsPrograms('ldapsearch'), async (t) => {
  const address = certificateFor('bob');
  const domain = certificateFor('domain');
  const published: Readonly<Record<string, readonly Uint8Array[]>> = {
    'bob@direct.example.org': [address, domain],
    'direct.example.org': [domain],
    "o'brien,+x@direct.example.org": [address],
  };
  const responder = await createLdapResponder({
    host: '127.0.0.1',
    port: 0,
    findCertificates: (mail) => published[mail] ?? [],
  });
  t.after(() => responder.close());
  const search = (...args: string[]) => ldapsearch(responder.port, ...args);
  const line = (der: Uint8Array) => `userCertificate;binary:: ${Buffer.from(der).toString('base64')}`;

  await t.test('HOST-03: the root names the context and the version', async () => {
    const { text } = await search('-s', 'base', '-b', '', 'namingContexts', 'supportedLDAPVersion');
    assert.equal(text.trim(), 'dn:\nnamingContexts: o=openhisp\nsupportedLDAPVersion: 3');
  });
  await t.test(
    'H3, H4: by the filter of discovery clients, as userCertificate and with ;binary',
    async () => {
      for (const attribute of ['userCertificate', 'userCertificate;binary']) {
        const filter = (mail: string) => `(&(mail=${mail})(|(userCertificate;binary=*)(userCertificate=*)))`;
        const found = await search('-b', 'o=openhisp', filter('Bob@direct.example.org'), attribute);
        assert.equal(found.status, 0);
        assert.ok(found.text.includes(line(address)) && found.text.includes(line(domain)), found.text);
        assert.ok(
          (await search('-b', 'o=openhisp', filter('direct.example.org'), attribute)).text.includes(
            line(domain),
          ),
        );
      }
    },
  );
  await t.test('by the name of the entry, with characters that names have to escape', async () => {
    const found = await search('-b', 'o=openhisp', "(mail=o'brien,\\2bx@direct.example.org)", 'mail');
    const dn = /^dn: (.*)$/m.exec(found.text)?.[1] ?? '';
    assert.match(
      (await search('-s', 'base', '-b', dn, 'mail')).text,
      /^mail: o'brien,\+x@direct\.example\.org$/m,
    );
  });
  await t.test('absence, other bases, listing, passwords', async () => {
    assert.deepEqual(await search('-b', 'o=openhisp', '(mail=nobody@direct.example.org)'), {
      status: 0,
      text: '',
    });
    assert.equal((await search('-b', 'o=other', '(mail=bob@direct.example.org)')).status, 32);
    assert.equal((await search('-b', 'o=openhisp', '(mail=*)')).status, 53);
    assert.equal((await search('-b', 'o=openhisp', '(mail=bob*)')).status, 53);
    assert.equal((await search('-D', 'cn=admin', '-w', 'secret', '-b', 'o=openhisp', '(mail=x)')).status, 49);
  });
  await t.test('paged results and size limits', async () => {
    const both = '(|(mail=bob@direct.example.org)(mail=direct.example.org))';
    assert.equal((await search('-z', '1', '-b', 'o=openhisp', both, 'mail')).status, 4);
    assert.equal((await search('-E', 'pr=1/noprompt', '-b', 'o=openhisp', both, 'mail')).status, 0);
    assert.equal((await search('-E', '!pr=1/noprompt', '-b', 'o=openhisp', both, 'mail')).status, 12);
  });
});
