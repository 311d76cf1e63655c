/** Operators of an OpenID provider: which tokens let them in, by which name, and what ends their access. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOrganizations } from '../../src/service/organizations/index.ts';
import { createOperators } from '../../src/service/operators/index.ts';
import { startHostileProvider, type HostileProvider, type TokenChange } from './hostile-provider.ts';
import { cookieOf, startTestConsole, type Answer, type TestConsole } from './start-console.ts';

describe('operators of an OpenID provider', () => {
  let provider: HostileProvider;
  let console_: TestConsole;

  before(async () => {
    provider = await startHostileProvider();
    console_ = await startTestConsole({
      'console.oidc.issuer': provider.issuer,
      'console.oidc.clientId': provider.clientId,
      'console.oidc.rolesClaim': 'groups',
      'console.oidc.roleMap':
        'hisp-operators=operator,hisp-desk=help-desk,nowhere=auditor@nowhere,closed=auditor@closed',
    });
    const { hisp, clock } = console_;
    const organizations = createOrganizations({ ...hisp, clock });
    await organizations.create({ id: 'closed', name: 'A closed clinic' });
    await hisp.storage.transaction((tx) => organizations.closeIn(tx, 'closed', 'contract ended'));
  });
  after(async () => {
    await console_?.close();
    await provider?.close();
  });

  /** Signs in with these claims. Returns the answer to the browser's return. */
  async function signIn(claims: Readonly<Record<string, unknown>>, target = '/queue'): Promise<Answer> {
    const begun = await console_.ask('GET', `/admin/v1/sign-in/oidc?after=${encodeURIComponent(target)}`);
    const asked = new URL(String(begun.headers['location'])).searchParams;
    provider.answerWith({ nonce: asked.get('nonce'), ...claims });
    return console_.ask('GET', `/admin/v1/sign-in/oidc/callback?code=x&state=${asked.get('state')}`, {
      cookie: cookieOf(begun),
      headers: { 'sec-fetch-site': 'cross-site' },
    });
  }

  const endOf = ({ headers }: Answer): string => String(headers['location']).replace(console_.url, '');
  const sessionOf = (answer: Answer): string =>
    answer.setCookies.find((one) => one.startsWith('openhisp_session'))?.split(';')[0] ?? '';
  async function whoIs(answer: Answer): Promise<unknown> {
    const { status, body } = await console_.ask('GET', '/admin/v1/session', { cookie: sessionOf(answer) });
    return status === 200 ? (body['operator'] as { name: string }).name : status;
  }

  test('a token without a subject, for another client, or for several of which another asked, lets nobody in', async () => {
    const { clientId } = provider;
    const claims: readonly Readonly<Record<string, unknown>>[] = [
      { sub: '' },
      { sub: undefined },
      { sub: ' ' },
      { sub: 'a b' },
      { sub: 'a\u0000' },
      { sub: 'x'.repeat(256) },
      { sub: 7 },
      { sub: { id: 'x' } },
      { sub: 's1', aud: 'another' },
      { sub: 's1', aud: [clientId, 'another'] },
      { sub: 's1', aud: [clientId, 'another'], azp: 'another' },
      { sub: 's1', azp: 'another' },
      { sub: 's1', iss: 'http://127.0.0.1:1' },
      { sub: 's1', exp: 1 },
      { sub: 's1', nonce: 'another' },
      { sub: 's1', nonce: undefined },
    ];
    for (const one of claims) {
      const answer = await signIn({ preferred_username: 'nobody', ...one });
      assert.match(endOf(answer), /problem=OPERATORS_PROVIDER_REFUSED$/, JSON.stringify(one));
      assert.equal(sessionOf(answer), '', JSON.stringify(one));
      console_.clock.advance(60_000);
    }
    const several = await signIn({
      sub: 'several',
      aud: [clientId, 'another'],
      azp: clientId,
      preferred_username: 'several',
    });
    assert.equal(await whoIs(several), 'several (OpenID)');
  });

  test('a provider that says of itself what cannot be is unreachable, and is asked again', async () => {
    const odd = await startHostileProvider();
    const asking = await startTestConsole({
      'console.oidc.issuer': odd.issuer,
      'console.oidc.clientId': odd.clientId,
      'console.oidc.roleMap': 'hisp-desk=help-desk',
    });
    const begin = async (): Promise<string> => {
      const { headers } = await asking.ask('GET', '/admin/v1/sign-in/oidc?after=/');
      return String(headers['location']);
    };
    const said: readonly Readonly<Record<string, unknown>>[] = [
      { issuer: 'http://127.0.0.1:1' },
      { issuer: undefined },
      ...['javascript:alert(1)//', 'data:text/html,x', '/admin/v1/sign-out', 'ftp://x.example/', 7].map(
        (place) => ({ authorization_endpoint: place }),
      ),
      { authorization_endpoint: undefined },
    ];
    for (const metadata of said) {
      odd.describe(metadata);
      assert.match(await begin(), /problem=OPERATORS_PROVIDER_UNREACHABLE$/, JSON.stringify(metadata));
    }
    odd.describe({});
    assert.ok((await begin()).startsWith(`${odd.issuer}/authorize?`));
    await asking.close();
    await odd.close();
  });

  test('a token that the keys of the provider do not verify lets nobody in', async () => {
    const header = (changes: Readonly<Record<string, unknown>>) => ({ header: changes });
    const cases: readonly TokenChange[] = [
      ...['none', 'None', 'HS256', 'ES256', ['RS256'], undefined].map((alg) => header({ alg })),
      header({ kid: 'another' }),
      header({ kid: { id: 'test' } }),
      header({ crit: ['exp'] }),
      header({ b64: false, crit: ['b64'] }),
      { signature: '' },
      { signature: 'AAAA' },
    ];
    for (const change of cases) {
      provider.signWith(change);
      const answer = await signIn({ sub: 'forged', preferred_username: 'forged' });
      assert.match(endOf(answer), /problem=OPERATORS_PROVIDER_REFUSED$/, JSON.stringify(change));
      assert.equal(sessionOf(answer), '', JSON.stringify(change));
      console_.clock.advance(60_000);
    }
    provider.signWith({});
  });

  test('an answer of any length is read no further than 256 kB, and lets nobody in', async () => {
    const who = { sub: 'long', groups: undefined };
    const told = { sub: 'long', preferred_username: 'long', groups: ['hisp-desk'] };
    provider.tell({ ...told, more: 'x'.repeat(300_000) });
    assert.match(endOf(await signIn(who)), /problem=OPERATORS_PROVIDER_REFUSED$/);
    provider.tell({ ...told, more: 'x'.repeat(200_000) });
    assert.equal(await whoIs(await signIn(who)), 'long (OpenID)');
  });

  test('names come from the provider only as far as it answers for them', async () => {
    const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
      ['verified', { email: 'v@example.org', email_verified: true }, 'v@example.org'],
      ['said as text', { email: 'w@example.org', email_verified: 'true' }, 'w@example.org'],
      ['unverified', { email: 'u@example.org', email_verified: false, name: 'Una' }, 'Una'],
      ['unsaid', { email: 'n@example.org', name: 'Nell' }, 'Nell'],
      [
        'unverified user name',
        {
          preferred_username: 'Boss@example.org',
          email: 'boss@example.org',
          email_verified: false,
          name: 'Bo',
        },
        'Bo',
      ],
      ['user principal name', { preferred_username: 'p@example.org' }, 'p@example.org'],
      ['hostile', { preferred_username: 'a\u202eb', name: '=cmd()', email: '<x>' }, 'subject-hostile'],
      ['other script', { preferred_username: 'р\u0430ul', name: 'ｐaul' }, 'subject-other-script'],
    ];
    for (const [what, claims, name] of cases) {
      const answer = await signIn({ sub: `subject-${what.replaceAll(' ', '-')}`, ...claims });
      assert.equal(await whoIs(answer), `${name} (OpenID)`, what);
    }
    // An address of the ID token is not verified by the word of the other endpoint about another address.
    provider.tell({ sub: 'mixed', groups: ['hisp-desk'], email: 'm@example.org', email_verified: true });
    const mixed = await signIn({ sub: 'mixed', groups: undefined, email: 'x@example.org', name: 'Mix' });
    assert.equal(await whoIs(mixed), 'Mix (OpenID)');
  });

  test('a name that looks like that of another operator is refused, here and by the provider', async () => {
    const { store } = console_.hisp.operators;
    await store.create('Will Barnes 10', 'operator');
    for (const name of [
      'will barnes 10',
      'WILL BARNES 10',
      'WillBarnes10',
      'Wi11 Barnes 1O',
      'Wíll Bärnes 10',
      'VViII Bames lo',
    ]) {
      await assert.rejects(store.create(name, 'operator'), { code: 'OPERATORS_NAME_TAKEN' }, name);
      const answer = await signIn({
        sub: `like ${name}`.replaceAll(/[^a-z]/gi, '-'),
        preferred_username: name,
      });
      assert.match(endOf(answer), /problem=OPERATORS_NAME_TAKEN$/, name);
      console_.clock.advance(60_000);
    }
    for (const name of [
      'Wіll',
      'Will  Barnes',
      ' Will',
      'Will ',
      'Ｗill',
      'Will\u200b',
      'Will (OpenID)',
      'Wıll\u0301',
    ])
      await assert.rejects(store.create(name, 'operator'), { code: 'OPERATORS_NAME_INVALID' }, name);
    // What only looks like a name does not name an operator.
    await assert.rejects(store.disable('Wi11 Barnes 10'), { code: 'OPERATORS_UNKNOWN' });
    assert.equal((await store.get('WILL barnes 10')).name, 'Will Barnes 10');
  });

  test('the actor of such an operator is that of no command and of nobody here', async () => {
    for (const name of ['root', 'system', 'operator', 'sandbox', 'postgres']) {
      const answer = await signIn({ sub: `actor-${name}`, preferred_username: name });
      assert.equal(await whoIs(answer), `${name} (OpenID)`);
    }
    const signedIn = await console_.audited('console.sign-in');
    for (const { actor } of signedIn) assert.match(String(actor), /^operator:.* \(OpenID\)$|^undefined$/);
  });

  test('when the provider gives no role any more, all sessions end with the next answer that says so', async () => {
    const known = { sub: 'leaver', preferred_username: 'leaver' };
    const first = await signIn({ ...known, groups: ['hisp-operators'] });
    const second = await signIn({ ...known, groups: ['hisp-operators'] });
    assert.deepEqual([await whoIs(first), await whoIs(second)], ['leaver (OpenID)', 'leaver (OpenID)']);
    const third = await signIn({ ...known, groups: ['staff'] });
    assert.match(endOf(third), /problem=OPERATORS_ROLE_MISSING$/);
    assert.deepEqual([await whoIs(first), await whoIs(second), await whoIs(third)], [401, 401, 401]);
    const [row] = await console_.audited('operator.role-lost');
    assert.deepEqual(
      [row?.['actor'], row?.['outcome'], row?.['ended']],
      ['operator:leaver (OpenID)', 'refused', 2],
    );
  });

  test('a role of an organization that there is not, or that is closed, ends what access there was', async () => {
    for (const sub of ['nowhere', 'closed']) {
      const first = await signIn({ sub, preferred_username: sub, groups: ['hisp-operators'] });
      assert.equal(await whoIs(first), `${sub} (OpenID)`);
      const second = await signIn({ sub, preferred_username: sub, groups: [sub] });
      assert.match(endOf(second), /problem=OPERATORS_ROLE_MISSING$/);
      assert.deepEqual([await whoIs(first), await whoIs(second)], [401, 401]);
      const lost = await console_.audited('operator.role-lost');
      assert.ok(lost.some((row) => row['actor'] === `operator:${sub} (OpenID)`));
    }
  });

  test('they get no bearer token, link or passkey, which would outlive their role', async () => {
    const answer = await signIn({ sub: 'scripter', preferred_username: 'scripter' });
    assert.equal(await whoIs(answer), 'scripter (OpenID)');
    const { store, tokens, links } = console_.hisp.operators;
    const operator = await store.get('scripter');
    const refusal = { code: 'OPERATORS_EXTERNAL' };
    await assert.rejects(tokens.create(operator, { label: 'x', lifetimeMs: 60_000 }), refusal);
    await assert.rejects(links.create(operator.id, operator.name, 'sign-in'), refusal);
    await assert.rejects(links.create(operator.id, operator.name, 'enrol'), refusal);
  });

  test('their sessions end when the provider is no longer that of the console', async () => {
    const answer = await signIn({ sub: 'mover', preferred_username: 'mover' });
    const token = sessionOf(answer).split('=')[1] ?? '';
    const { storage, vault, audit } = console_.hisp;
    const parts = { storage, vault, audit, clock: console_.clock };
    const settings = {
      name: 'x',
      clientId: 'x',
      clientSecret: undefined,
      scopes: ['openid'],
      rolesClaim: 'groups',
      roleMap: [],
    };
    const find = (issuer: string | undefined) =>
      createOperators({
        ...parts,
        openId: issuer === undefined ? undefined : { ...settings, issuer },
      }).sessions.find(token, { isActivity: false });
    assert.equal((await find(provider.issuer)).operator.name, 'mover (OpenID)');
    for (const issuer of [undefined, 'https://other.example', `${provider.issuer}0`])
      await assert.rejects(find(issuer), { code: 'OPERATORS_SESSION_INVALID' });
  });

  test('after the sign-in the browser comes to a page of the console, wherever it was asked to go', async () => {
    const targets: readonly (readonly [string, string])[] = [
      ['/messages/%3Ca@b%3E?x=1', '/messages/%3Ca@b%3E?x=1'],
      ['/queue/../inbound', '/inbound'],
      ['//evil.example', '/'],
      ['///evil.example', '/'],
      ['/.//evil.example', '/'],
      ['/x/..//evil.example', '/'],
      ['/%2e//evil.example', '/'],
      ['/\\evil.example', '/'],
      ['/x\\..\\\\evil', '/'],
      ['https://evil.example/', '/'],
      ['/\t/evil.example', '/'],
      ['/\r\nSet-Cookie: a=b', '/'],
      ['javascript:alert(1)', '/'],
      ['/admin/v1/sign-in/oidc', '/'],
      ['/admin/v1/audit/export', '/'],
      ['/x/../admin/v1/audit/export', '/'],
      ['/assets/x.js', '/'],
      ['', '/'],
    ];
    for (const [asked, came] of targets) {
      const answer = await signIn({ sub: 'traveller', preferred_username: 'traveller' }, asked);
      assert.equal(String(answer.headers['location']), `${console_.url}${came}`, asked);
    }
  });
});
