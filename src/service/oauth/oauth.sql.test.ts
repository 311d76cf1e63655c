import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMigratedDatabase, isPostgres, openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock, errorCode, silentLog } from '../../core/index.ts';
import { parseDirectAddress } from '../../lib/values/index.ts';
import { createVault } from '../../platform/index.ts';
import { createAudit } from '../audit/index.ts';
import { canSendAs } from './client.ts';
import type { NewClient } from './client-store.ts';
import { createOauth } from './create-oauth.ts';
import { OauthError, oauthErrors, type OauthErrorCode } from './errors.ts';
import { createOauthGuards } from './guards.ts';
import { createSecretHasher, isGenerated } from './secrets.ts';
import type { OauthTables } from './tables.ts';
import type { TokenRequest } from './token-endpoint.ts';
import { createTokenStore } from './token-store.ts';
import { createClientVerifier } from './verify-client.ts';

const storage = await openTestStorage();
const clock = createManualClock(new Date('2026-05-01T00:00:00Z'));
const vault = createVault(Buffer.alloc(32, 1));
const audit = createAudit({ storage, vault, clock, log: silentLog });
const oauth = createOauth({
  storage,
  vault,
  clock,
  audit,
  limits: { attemptsPerMinute: 5, tokensPerSecond: 1, tokensBurst: 100 },
});
after(async () => {
  await audit.close();
  await storage.close();
});

const seen = new Set<string>();
const refusedAs = (code: OauthErrorCode, field?: string) => (error: unknown) => {
  assert.ok(error instanceof OauthError);
  seen.add(error.code);
  assert.equal(error.code, code);
  if (field !== undefined)
    assert.deepEqual(
      error.problems.map((problem) => problem.field),
      [field],
    );
  return true;
};
const newClient: NewClient = {
  name: 'Test',
  scopes: ['messaging.api'],
  directAddresses: ['@Direct.Example.org', 'Dr.Bob@other.example.org'],
};

function tokenRequest(changes: Partial<TokenRequest>): TokenRequest {
  const body = Buffer.from('grant_type=client_credentials');
  const contentType = 'application/x-www-form-urlencoded';
  return {
    authorization: undefined,
    contentType,
    body,
    query: '',
    remoteAddress: '127.0.0.1',
    requestId: 'r',
    ...changes,
  };
}

test('a client is found again with its settings, and its secret is nowhere', async () => {
  const issued = await oauth.clients.create({
    ...newClient,
    limits: { sendsPerSecond: 3 },
    requestFinalDelivery: true,
    dataUseAcceptedAt: clock.now(),
  });
  const client = await oauth.clients.get(issued.clientId);
  assert.deepEqual(
    [client.name, client.scopes, client.limits, client.requestFinalDelivery, client.dataUseAcceptedAt],
    ['Test', ['messaging.api'], { sendsPerSecond: 3 }, true, clock.now()],
  );
  assert.deepEqual(
    client.secrets.map((secret) => secret.secretId),
    [issued.secretId],
  );
  assert.ok(!JSON.stringify(await oauth.clients.list()).includes(issued.clientSecret));
  assert.deepEqual(await oauth.clients.list([issued.clientId, 'unknown']), [client]);
  assert.match(issued.clientSecret, /^ohs_[\w-]{43}$/);
});

test(
  'a client that another node disables is refused here at once',
  { skip: !isPostgres && 'several nodes need PostgreSQL' },
  async () => {
    const database = await createMigratedDatabase();
    const storages = [await database.open(), await database.open()];
    const [here, there] = storages.map((one) =>
      createOauth({
        storage: one,
        vault,
        clock,
        audit: createAudit({ storage: one, vault, clock, log: silentLog }),
      }),
    );
    assert.ok(here !== undefined && there !== undefined);
    const { clientId, clientSecret } = await there.clients.create(newClient);
    const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    const { accessToken } = await here.issueToken(tokenRequest({ authorization }));
    const isAccepted = () =>
      here.authenticate(`Bearer ${accessToken}`, 'messaging.api').then(
        () => true,
        () => false,
      );
    assert.ok(await isAccepted());
    await there.clients.disable(clientId);
    // By the clock of the tokens no time passes.
    for (let tries = 0; tries < 100 && (await isAccepted()); tries++) await sleep(20);
    assert.ok(!(await isAccepted()));
    for (const one of storages) await one.close();
  },
);

test('a token that another node has revoked is refused here within five seconds, also if this clock is set back', async () => {
  const other = createOauth({ storage, vault, clock, audit });
  for (const stepMs of [5_000, -3_600_000]) {
    const { clientId, clientSecret } = await other.clients.create(newClient);
    const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    const { accessToken } = await oauth.issueToken(tokenRequest({ authorization }));
    const bearer = `Bearer ${accessToken}`;
    await oauth.authenticate(bearer, 'messaging.api');
    await other.clients.disable(clientId);
    clock.advance(stepMs);
    await assert.rejects(oauth.authenticate(bearer, 'messaging.api'), refusedAs('OAUTH_TOKEN_INVALID'));
  }
  clock.advance(3_600_000);
});

test('an update changes the given fields and keeps the others', async () => {
  const { clientId } = await oauth.clients.create(newClient);
  const client = await oauth.clients.update(clientId, { name: 'Other' });
  assert.deepEqual(
    [client.name, client.scopes, client.directAddresses],
    ['Other', newClient.scopes, ['@direct.example.org', 'dr.bob@other.example.org']],
  );
});

test('M5: a client may send as its own addresses and as any of its own domains, in any case', async () => {
  const client = await oauth.clients.get((await oauth.clients.create(newClient)).clientId);
  const may = (text: string): boolean => canSendAs(client, parseDirectAddress(text));
  assert.ok(
    may('anyone@direct.example.org') && may('Anyone@DIRECT.example.org') && may('dr.bob@OTHER.example.org'),
  );
  for (const text of [
    'alice@other.example.org',
    'x@sub.direct.example.org',
    'x@example.org',
    'x@notdirect.example.org',
  ])
    assert.ok(!may(text), text);
});

test('settings at fault are named', async () => {
  const faults: [Partial<NewClient>, string][] = [
    [{ name: ' ' }, 'name'],
    [{ scopes: ['messaging.API'] }, 'scopes'],
    [{ directAddresses: ['nobody'] }, 'directAddresses'],
    [{ directAddresses: ['@localhost'] }, 'directAddresses'],
    [{ limits: { sendsPerSecond: -1 } }, 'limits.sendsPerSecond'],
    [{ clientId: 'a:b' }, 'clientId'],
    [{ clientSecret: 'short' }, 'clientSecret'],
  ];
  for (const [fault, field] of faults) {
    await assert.rejects(
      oauth.clients.create({ ...newClient, ...fault }),
      refusedAs('OAUTH_CLIENT_SETTINGS_INVALID', field),
    );
  }
});

test('a known id, a third secret, an unknown client and an unknown secret are refused', async () => {
  const { clientId } = await oauth.clients.create({ ...newClient, clientId: 'chosen' });
  await assert.rejects(oauth.clients.create({ ...newClient, clientId }), refusedAs('OAUTH_CLIENT_EXISTS'));
  await oauth.clients.rotateSecret(clientId);
  await assert.rejects(oauth.clients.rotateSecret(clientId), refusedAs('OAUTH_SECRETS_EXHAUSTED'));
  await assert.rejects(oauth.clients.revokeSecret(clientId, 'none'), refusedAs('OAUTH_SECRET_UNKNOWN'));
  for (const name of ['get', 'disable', 'enable', 'rotateSecret'] as const) {
    await assert.rejects(async () => oauth.clients[name]('nobody'), refusedAs('OAUTH_CLIENT_UNKNOWN'));
  }
});

test('of two operators who each revoke one of the two secrets, one is refused; the last one is revoked if that is meant', async () => {
  const { clientId, secretId } = await oauth.clients.create(newClient);
  const { secretId: second } = await oauth.clients.rotateSecret(clientId);
  const revoked = await Promise.allSettled(
    [secretId, second].map((id) => oauth.clients.revokeSecret(clientId, id)),
  );
  assert.deepEqual(revoked.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  const [left, ...others] = (await oauth.clients.get(clientId)).secrets;
  assert.ok(left !== undefined && others.length === 0);
  await assert.rejects(oauth.clients.revokeSecret(clientId, left.secretId), refusedAs('OAUTH_SECRET_LAST'));
  await oauth.clients.revokeSecret(clientId, left.secretId, { isForced: true });
  assert.deepEqual((await oauth.clients.get(clientId)).secrets, []);
});

test('OAUTH-03: an unknown id and a wrong secret cost exactly one slow hash each, however many secrets there are', async () => {
  const db = storage.tables<OauthTables>();
  const inner = createSecretHasher();
  let hashes = 0;
  const hasher: typeof inner = { hash: (...input) => (hashes++, inner.hash(...input)) };
  const verifier = createClientVerifier({ db, hasher, clock, guards: createOauthGuards({ vault, audit }) });
  const chosen = { ...newClient, clientSecret: 'brought along from elsewhere' };
  const { clientId, clientSecret } = await oauth.clients.create(chosen);
  const { clientSecret: generated } = await oauth.clients.rotateSecret(clientId);
  const costOf = async (id: string, secret: string): Promise<number> => {
    hashes = 0;
    await verifier
      .verify({
        authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        remoteAddress: '192.0.2.1',
      })
      .catch(refusedAs('OAUTH_CLIENT_INVALID'));
    return hashes;
  };
  assert.deepEqual(
    [await costOf('nobody', 'x'), await costOf(clientId, 'x'), await costOf('nobody', 'x')],
    [1, 1, 1],
  );
  assert.deepEqual(
    [await costOf(clientId, clientSecret), await costOf(clientId, clientSecret)],
    [1, 0],
    'a verified secret is remembered',
  );
  clock.advance(2 * 3_600_000);
  assert.equal(await costOf(clientId, clientSecret), 1, 'and not for ever');
  await assert.rejects(
    oauth.clients.create({ ...newClient, clientSecret: generated }),
    refusedAs('OAUTH_CLIENT_SETTINGS_INVALID', 'clientSecret'),
  );
});

test('OAUTH-11: a generated secret needs no slow hash, right or wrong, of a known client or not', async () => {
  const older = createSecretHasher();
  const { clientId, secretId, clientSecret } = await oauth.clients.create(newClient);
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
    remoteAddress: '192.0.2.1',
  });
  // While 66 others are hashed no slow hash would be had.
  const salt = Buffer.alloc(16);
  const verifier = createClientVerifier({
    db: storage.tables<OauthTables>(),
    clock,
    guards: createOauthGuards({ vault, audit }),
    hasher: {
      hash: (secret, ...rest) =>
        isGenerated(secret) ? older.hash(secret, ...rest) : Promise.reject(new TypeError('slow')),
    },
  });
  assert.equal((await verifier.verify(basic(clientId, clientSecret))).secretId, secretId);
  const wrong = `${clientSecret.slice(0, -1)}${clientSecret.endsWith('A') ? 'E' : 'A'}`;
  for (const [id, secret] of [
    [clientId, wrong],
    ['nobody', clientSecret],
  ] as const)
    await assert.rejects(verifier.verify(basic(id, secret)), refusedAs('OAUTH_CLIENT_INVALID'));
  let slowHashes = 0;
  const busy = Array.from({ length: 66 }, () => older.hash('x', salt, 16_384).then(() => slowHashes++));
  await older.hash(clientSecret, salt, 16_384);
  assert.equal(slowHashes, 0, 'it waited for the slow ones');
  await Promise.all(busy);
});

test('OAUTH-12: guesses that come at once are no more than those that come one after another', async () => {
  const secret = 'brought along from elsewhere';
  const { clientId } = await oauth.clients.create({ ...newClient, clientSecret: secret });
  const basic = (guess: string): string => `Basic ${Buffer.from(`${clientId}:${guess}`).toString('base64')}`;
  const codesOf = async (guesses: readonly string[]): Promise<string[]> => {
    const results = await Promise.allSettled(
      guesses.map((guess) =>
        oauth.issueToken(tokenRequest({ authorization: basic(guess), remoteAddress: '192.0.2.12' })),
      ),
    );
    return results.map((one) => (one.status === 'fulfilled' ? 'issued' : String(errorCode(one.reason))));
  };
  const many = (await codesOf(Array.from({ length: 40 }, (_, at) => `guess ${at}`))).toSorted();
  assert.deepEqual(many, [
    ...Array(35).fill('OAUTH_ATTEMPTS_EXCEEDED'),
    ...Array(5).fill('OAUTH_CLIENT_INVALID'),
  ]);
  assert.deepEqual(await codesOf([secret]), ['OAUTH_ATTEMPTS_EXCEEDED']);
  // 5 per minute: one more, and the right secret does not count.
  clock.advance(12_000);
  const codes = [await codesOf([secret]), await codesOf(['wrong']), await codesOf(['wrong again'])].flat();
  assert.deepEqual(codes, ['issued', 'OAUTH_CLIENT_INVALID', 'OAUTH_ATTEMPTS_EXCEEDED']);
});

test('OAUTH-12: a client that asks for many tokens at once with its right secret is not taken for one that guesses', async () => {
  for (const own of [undefined, 'another one brought along']) {
    const { clientId, clientSecret } = await oauth.clients.create({
      ...newClient,
      ...(own !== undefined && { clientSecret: own }),
    });
    const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    await Promise.all(
      Array.from({ length: 20 }, () =>
        oauth.issueToken(tokenRequest({ authorization, remoteAddress: '192.0.2.13' })),
      ),
    );
  }
});

test('OAUTH-12: a right secret that comes several times at once is one guess, also where only one is left', async () => {
  const secret = 'brought along for the last guess';
  const { clientId } = await oauth.clients.create({ ...newClient, clientSecret: secret });
  const codeOf = async (guess: string): Promise<string> => {
    const authorization = `Basic ${Buffer.from(`${clientId}:${guess}`).toString('base64')}`;
    const request = tokenRequest({ authorization, remoteAddress: '192.0.2.14' });
    return oauth.issueToken(request).then(() => 'issued', errorCode);
  };
  for (const guess of ['a', 'b', 'c', 'd']) assert.equal(await codeOf(guess), 'OAUTH_CLIENT_INVALID');
  const early = [secret, secret, secret].map(codeOf);
  await sleep(10);
  const late = [secret, secret].map(codeOf);
  assert.deepEqual(await Promise.all([...early, ...late]), Array(5).fill('issued'));
  assert.equal(await codeOf('e'), 'OAUTH_CLIENT_INVALID');
  assert.deepEqual(await Promise.all(['f', 'f', 'f'].map(codeOf)), Array(3).fill('OAUTH_ATTEMPTS_EXCEEDED'));
});

test('too many secrets to hash at once are turned away, transiently', async () => {
  const hasher = createSecretHasher();
  const salt = Buffer.alloc(16);
  const results = await Promise.allSettled(Array.from({ length: 80 }, () => hasher.hash('x', salt, 16)));
  const refused = results.filter((result) => result.status === 'rejected');
  assert.ok(refused.length > 0 && refused.length < 80);
  for (const { reason } of refused)
    assert.ok(refusedAs('OAUTH_OVERLOADED')(reason) && (reason as OauthError).isTransient);
  await hasher.hash('x', salt, 16);
});

test('expired tokens are cleared away when new ones are issued', async () => {
  const client = await oauth.clients.create(newClient);
  const authorization = `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}`;
  await oauth.issueToken(tokenRequest({ authorization }));
  clock.advance(3_600_000);
  await oauth.issueToken(tokenRequest({ authorization }));
  const rows = await storage
    .tables<OauthTables>()
    .selectFrom('oauth_token')
    .select('token_hash')
    .where('client_id', '=', client.clientId)
    .execute();
  assert.equal(rows.length, 1);
});

test('every change by an operator is audited with the client and without secrets', async () => {
  const { clientId, secretId, clientSecret } = await oauth.clients.create(newClient);
  await oauth.clients.rotateSecret(clientId);
  await oauth.clients.revokeSecret(clientId, secretId);
  await oauth.clients.update(clientId, { name: 'x' });
  await oauth.clients.disable(clientId);
  const records = (await audit.find({ actor: 'operator', limit: 1000 })).filter(
    (record) => record.objects['clientId'] === clientId,
  );
  assert.deepEqual(records.map((record) => record.action).reverse(), [
    'client.create',
    'client.rotate-secret',
    'client.revoke-secret',
    'client.update',
    'client.disable',
  ]);
  assert.ok(!JSON.stringify(records).includes(clientSecret));
});

test('a token that was issued while its client was being disabled opens nothing', async () => {
  const { clientId, secretId } = await oauth.clients.create(newClient);
  const guards = createOauthGuards({ vault, audit });
  const { token, row } = createTokenStore({ db: storage.tables<OauthTables>(), clock, guards }).create(
    clientId,
    secretId,
    ['messaging.api'],
  );
  await oauth.clients.disable(clientId);
  await storage.tables<OauthTables>().insertInto('oauth_token').values(row).execute();
  const authenticate = () => oauth.authenticate(`Bearer ${token}`, 'messaging.api');
  await assert.rejects(authenticate(), refusedAs('OAUTH_TOKEN_INVALID'));
  await oauth.clients.enable(clientId);
  assert.equal((await authenticate()).clientId, clientId);
});

test('a client that is disabled while its token is being read is refused from then on', async () => {
  const { clientId, secretId } = await oauth.clients.create(newClient);
  const guards = createOauthGuards({ vault, audit });
  const [reading, disabled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const tokens = createTokenStore({
    db: storage.tables<OauthTables>(),
    clock,
    guards: {
      ...guards,
      clients: {
        ...guards.clients,
        // The row was read before the change, and is compared after it.
        async check(found) {
          reading.resolve();
          await disabled.promise;
          return guards.clients.check(found);
        },
      },
    },
  });
  const { token, row } = tokens.create(clientId, secretId, ['messaging.api']);
  await storage.tables<OauthTables>().insertInto('oauth_token').values(row).execute();
  const found = tokens.find(token);
  await reading.promise;
  await oauth.clients.disable(clientId);
  tokens.evict(clientId);
  disabled.resolve();
  assert.equal((await found).clientId, clientId);
  await assert.rejects(tokens.find(token), refusedAs('OAUTH_TOKEN_INVALID'));
});

test('every refusal code is provoked', async () => {
  const client = await oauth.clients.create({ ...newClient, scopes: ['messaging.api'] });
  const authorization = `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}`;
  const issue = (changes: Partial<TokenRequest>): Promise<unknown> =>
    oauth.issueToken(tokenRequest({ authorization, ...changes }));
  await assert.rejects(issue({ contentType: 'text/plain' }), refusedAs('OAUTH_REQUEST_INVALID'));
  await assert.rejects(issue({ body: Buffer.from('grant_type=x') }), refusedAs('OAUTH_GRANT_UNSUPPORTED'));
  await assert.rejects(
    issue({ body: Buffer.from('grant_type=client_credentials&scope=x') }),
    refusedAs('OAUTH_SCOPE_INVALID'),
  );
  // One of two that the client may have gives neither.
  await assert.rejects(
    issue({ body: Buffer.from('grant_type=client_credentials&scope=messaging.api+provider-directory') }),
    refusedAs('OAUTH_SCOPE_INVALID'),
  );
  await assert.rejects(oauth.authenticate(undefined, 'messaging.api'), refusedAs('OAUTH_TOKEN_MISSING'));
  await assert.rejects(oauth.authenticate('Bearer', 'messaging.api'), refusedAs('OAUTH_TOKEN_MALFORMED'));
  await assert.rejects(oauth.authenticate('Bearer x', 'messaging.api'), refusedAs('OAUTH_TOKEN_INVALID'));
  const { accessToken } = await oauth.issueToken(tokenRequest({ authorization }));
  await assert.rejects(
    oauth.authenticate(`Bearer ${accessToken}`, 'provider-directory'),
    refusedAs('OAUTH_SCOPE_INSUFFICIENT'),
  );
  await oauth.clients.disable(client.clientId);
  await assert.rejects(issue({}), refusedAs('OAUTH_CLIENT_UNAUTHORIZED'));
  const wrong = { authorization: 'Basic eDp5', remoteAddress: '192.0.2.1' };
  for (let attempt = 0; attempt < 5; attempt++)
    await assert.rejects(issue(wrong), refusedAs('OAUTH_CLIENT_INVALID'));
  await assert.rejects(issue(wrong), refusedAs('OAUTH_ATTEMPTS_EXCEEDED'));
  assert.deepEqual([...seen].sort(), Object.keys(oauthErrors).sort());
});
