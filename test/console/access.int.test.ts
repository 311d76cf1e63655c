/** Access to the console: links, cookies, origins, roles, the end of sessions. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { cookieOf, startTestConsole, type TestConsole } from './start-console.ts';

const day = 86_400_000;
const minute = 60_000;

let console_: TestConsole;
before(async () => {
  console_ = await startTestConsole();
});
after(() => console_.close());

const enter = (token: string, extra: Parameters<TestConsole['ask']>[2] = {}) =>
  console_.ask('POST', '/admin/v1/sign-in/link', { body: { token }, ...extra });
const readSession = (cookie: string | undefined) => console_.ask('GET', '/admin/v1/session', { cookie });
const reasonOf = ({ body }: { body: Readonly<Record<string, unknown>> }): unknown =>
  (body['errors'] as readonly { reason: string }[])[0]?.reason;

describe('links', () => {
  test('a sign-in link begins a session of its operator, once', async () => {
    const token = await console_.makeOperator('link once', 'help-desk');
    const first = await enter(token);
    assert.equal(first.status, 200);
    const { id } = await console_.hisp.operators.store.get('link once');
    const operator = { id, name: 'link once', role: 'help-desk' };
    assert.deepEqual(first.body, { kind: 'signed-in', operator });

    const session = await readSession(cookieOf(first));
    assert.deepEqual(session.body['operator'], { ...operator, organization: null });
    assert.deepEqual(session.body['permissions'], [
      'messages.read',
      'messages.change',
      'addresses.check',
      'directory.read',
    ]);
    const second = await enter(token);
    assert.deepEqual([second.status, reasonOf(second)], [401, 'operators_link_invalid']);
    assert.deepEqual(second.setCookies, []);
    const rows = await console_.audited('console.sign-in');
    assert.equal(rows[0]?.['reason'], 'used');
    assert.deepEqual([rows[1]?.['actor'], rows[1]?.['outcome']], ['operator:link once', 'ok']);
  });

  test('a forged link is refused, and so are an expired one and one of a disabled operator', async () => {
    const forged = await enter('A'.repeat(43));
    assert.deepEqual([forged.status, reasonOf(forged)], [401, 'operators_link_invalid']);
    const expired = await console_.makeOperator('link expired');
    console_.clock.advance(10 * minute);
    assert.equal((await enter(expired)).status, 401);
    assert.equal((await console_.audited('console.sign-in'))[0]?.['reason'], 'expired');
    const disabled = await console_.makeOperator('link disabled');
    await console_.hisp.operators.store.disable('link disabled');
    const refused = await enter(disabled);
    assert.deepEqual([refused.status, reasonOf(refused)], [401, 'operators_link_invalid']);
  });

  test('a sign-in link registers no passkey, and is not used up by the attempt', async () => {
    const token = await console_.makeOperator('link purpose');
    const target = '/admin/v1/enrol/passkey/options';
    const answer = await console_.ask('POST', target, { body: { token } });
    assert.deepEqual([answer.status, reasonOf(answer)], [401, 'operators_link_invalid']);
    const { id } = await console_.hisp.operators.store.get('link purpose');
    const enrolment = (await console_.hisp.operators.links.create(id, 'link purpose', 'enrol')).token;
    assert.equal((await console_.ask('POST', target, { body: { token: enrolment } })).status, 200);
    assert.equal((await enter(token)).status, 200);
  });

  test('a new link ends the one before', async () => {
    const first = await console_.makeOperator('link twice');
    const { id } = await console_.hisp.operators.store.get('link twice');
    const { token } = await console_.hisp.operators.links.create(id, 'link twice', 'sign-in');
    assert.equal((await enter(first)).status, 401);
    assert.equal((await enter(token)).status, 200);
  });

  test('a standing link works again and again, from this machine only', async () => {
    const { id } = await console_.hisp.operators.store.create('standing', 'operator');
    const { signIn } = console_.hisp.operators;
    const token = signIn.openStandingLink(id);
    assert.equal((await enter(token)).status, 200);
    assert.equal((await enter(token)).status, 200);
    const source = { remoteAddress: '203.0.113.9', userAgent: '' };
    await assert.rejects(signIn.byLink(token, source), { code: 'OPERATORS_LINK_INVALID' });
  });

  test('after many failures a network has to wait', async () => {
    const source = { remoteAddress: '198.51.100.7', userAgent: '' };
    const { signIn } = console_.hisp.operators;
    for (let index = 0; index < 20; index++)
      await assert.rejects(signIn.byLink('wrong', source), { code: 'OPERATORS_LINK_INVALID' });
    await assert.rejects(signIn.byLink('wrong', source), { code: 'OPERATORS_ATTEMPTS_EXCEEDED' });
    console_.clock.advance(minute);
    await assert.rejects(signIn.byLink('wrong', source), { code: 'OPERATORS_LINK_INVALID' });
  });
});

describe('the session cookie', () => {
  test('no script reads it and no other site sends it', async () => {
    const answer = await enter(await console_.makeOperator('flags'));
    const [cookie = ''] = answer.setCookies;
    assert.match(
      cookie,
      /^openhisp_session_\d+=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
  });

  test('an invented session is not taken over at sign-in, and an old one ends', async () => {
    const old = await console_.signIn('fixation');
    const { id } = await console_.hisp.operators.store.get('fixation');
    const { token } = await console_.hisp.operators.links.create(id, 'fixation', 'sign-in');
    const answer = await enter(token, { cookie: old });
    assert.notEqual(cookieOf(answer), old);
    assert.equal((await readSession(old)).status, 401);
    assert.equal((await readSession(cookieOf(answer))).status, 200);
    const name = old.split('=')[0];
    assert.equal((await readSession(`${name}=${'A'.repeat(43)}`)).status, 401);
  });

  test('is the oldest of fifty that ends when a further one begins', async () => {
    const cookies = [await console_.signIn('many sessions')];
    const { id } = await console_.hisp.operators.store.get('many sessions');
    while (cookies.length < 51) {
      console_.clock.advance(1000);
      const { token } = await console_.hisp.operators.links.create(id, 'many sessions', 'sign-in');
      cookies.push(cookieOf(await enter(token)));
    }
    const statuses = await Promise.all(
      cookies.slice(0, 2).map(async (cookie) => (await readSession(cookie)).status),
    );
    assert.deepEqual(statuses, [401, 200]);
    assert.equal((await console_.hisp.operators.sessions.list(id)).length, 50);
  });

  test('is stored as a hash only', async () => {
    const cookie = await console_.signIn('hashed');
    const rows = await console_.hisp.storage
      .tables<{ console_session: object }>()
      .selectFrom('console_session')
      .selectAll()
      .execute();
    assert.ok(rows.length > 0);
    assert.ok(!JSON.stringify(rows).includes(cookie.split('=')[1] ?? ''));
  });

  test('ends after half an hour without activity, and requests of the page itself are none', async () => {
    const cookie = await console_.signIn('idle');
    console_.clock.advance(29 * minute);
    assert.equal((await readSession(cookie)).status, 200);
    console_.clock.advance(29 * minute);
    const background = { cookie, headers: { 'x-background': '1' } };
    assert.equal((await console_.ask('GET', '/admin/v1/session', background)).status, 200);
    console_.clock.advance(minute);
    assert.equal((await readSession(cookie)).status, 401);
  });

  test('ends after twelve hours, however busy', async () => {
    const cookie = await console_.signIn('absolute');
    for (let index = 0; index < 35; index++) {
      console_.clock.advance(20 * minute);
      assert.equal((await readSession(cookie)).status, 200, `after ${(index + 1) * 20} minutes`);
    }
    console_.clock.advance(20 * minute);
    assert.equal((await readSession(cookie)).status, 401);
  });

  test('ends at once when its operator is disabled, and does not come back', async () => {
    const cookie = await console_.signIn('disabled');
    await console_.hisp.operators.store.disable('disabled');
    assert.equal((await readSession(cookie)).status, 401);
    await console_.hisp.operators.store.enable('disabled');
    assert.equal((await readSession(cookie)).status, 401);
  });

  test('sessions are listed, and end one by one or everywhere', async () => {
    const first = await console_.signIn('several');
    const { id, name } = await console_.hisp.operators.store.get('several');
    const signInAgain = async () =>
      cookieOf(await enter((await console_.hisp.operators.links.create(id, name, 'sign-in')).token));
    const [second, third] = [await signInAgain(), await signInAgain()];
    const list = await console_.ask('GET', '/admin/v1/sessions', { cookie: first });
    const sessions = list.body['result'] as readonly { id: string; isCurrent: boolean }[];
    assert.equal(sessions.length, 3);
    assert.deepEqual(sessions.filter(({ isCurrent }) => isCurrent).length, 1);
    const other = await console_.signIn('several other');
    const own = sessions.find(({ isCurrent }) => isCurrent)?.id ?? '';
    const foreign = await console_.ask('DELETE', `/admin/v1/sessions/${own}`, { cookie: other });
    assert.equal(foreign.status, 404);
    assert.equal((await console_.ask('DELETE', '/admin/v1/session', { cookie: third })).status, 204);
    assert.equal((await readSession(third)).status, 401);
    assert.equal((await readSession(second)).status, 200);
    const everywhere = await console_.ask('DELETE', '/admin/v1/sessions', { cookie: first });
    assert.deepEqual(everywhere.body, { ended: 2 });
    assert.equal((await readSession(first)).status, 401);
    assert.equal((await readSession(second)).status, 401);
    assert.equal((await console_.audited('console.sign-out-everywhere'))[0]?.['count'], 2);
  });

  test('a row that was changed by hand lets nobody in', async () => {
    const cookie = await console_.signIn('forger', 'help-desk');
    await console_.hisp.storage
      .tables<{ console_operator: { name: string; role: string } }>()
      .updateTable('console_operator')
      .set({ role: 'operator' })
      .where('name', '=', 'forger')
      .execute();
    const answer = await readSession(cookie);
    assert.deepEqual([answer.status, reasonOf(answer)], [500, 'integrity_row_changed']);
  });
});

describe('requests from elsewhere', () => {
  const refusedWith = async (headers: Readonly<Record<string, string | undefined>>, target?: string) => {
    const cookie = await console_.signIn(`elsewhere ${Math.random()}`);
    const answer = await console_.ask('DELETE', target ?? '/admin/v1/session', { cookie, headers });
    // Still signed in: nothing was done.
    assert.equal((await readSession(cookie)).status, 200);
    return [answer.status, reasonOf(answer)];
  };

  test('a state change with another Origin, or none, is refused', async () => {
    const refused = [403, 'console_origin_refused'];
    assert.deepEqual(await refusedWith({ origin: 'https://evil.example' }), refused);
    assert.deepEqual(await refusedWith({ origin: 'null' }), refused);
    assert.deepEqual(await refusedWith({ origin: console_.url.replace('localhost', '127.0.0.1') }), refused);
    assert.deepEqual(await refusedWith({ origin: undefined }), refused);
    // A form of the path that is not the usual one is no way around it.
    assert.deepEqual(await refusedWith({ origin: 'https://evil.example' }, '/%61dmin/v1/session'), refused);
  });

  test('another site, or another port of this one, gets no answer at all', async () => {
    const cookie = await console_.signIn('fetched');
    for (const site of ['cross-site', 'same-site']) {
      const answer = await console_.ask('GET', '/admin/v1/session', {
        cookie,
        headers: { 'sec-fetch-site': site },
      });
      assert.deepEqual([answer.status, reasonOf(answer)], [403, 'console_origin_refused']);
    }
  });

  test("a token that another origin's page sends is refused", async () => {
    const { store, tokens } = console_.hisp.operators;
    const operator = await store.create('token elsewhere', 'operator');
    const { token } = await tokens.create(operator, { label: 'x', lifetimeMs: minute });
    const authorization = `Bearer ${token}`;
    const ask = (headers: Readonly<Record<string, string>>) =>
      console_.ask('GET', '/admin/v1/session', { headers: { ...headers, authorization } });
    assert.equal((await ask({})).status, 200);
    const answer = await ask({ origin: 'https://evil.example' });
    assert.deepEqual([answer.status, reasonOf(answer)], [403, 'console_origin_refused']);
  });

  test('a sign-in from another origin is refused', async () => {
    const token = await console_.makeOperator('login forgery');
    const answer = await enter(token, { headers: { origin: 'https://evil.example' } });
    assert.equal(answer.status, 403);
    assert.equal((await enter(token)).status, 200);
  });

  test('a form or plain text is not taken for JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const answer = await enter('x', { headers: { 'content-type': type } });
      assert.equal(answer.status, 415, type);
    }
  });

  test('another name that leads here is refused; people are sent to the right one, never elsewhere', async () => {
    const api = await console_.ask('GET', '/admin/v1/session', { headers: { host: 'evil.example' } });
    assert.deepEqual([api.status, reasonOf(api)], [403, 'console_host_refused']);
    for (const target of ['/', '/messages?q=1', '//evil.example/x', '/\\evil.example', '/@evil.example']) {
      const page = await console_.ask('GET', target, { headers: { host: '127.0.0.1:1' } });
      assert.equal(page.status, 308);
      // Cached, it would lead to the old name after the address of the console has changed.
      assert.equal(page.headers['cache-control'], 'no-store');
      assert.equal(new URL(String(page.headers['location'])).origin, console_.url);
    }
  });
});

describe('pages', () => {
  test('the Content-Security-Policy allows nothing inline and nothing from elsewhere', async () => {
    const page = await console_.ask('GET', '/messages');
    assert.equal(
      page.headers['content-security-policy'],
      "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';" +
        "font-src 'self';manifest-src 'self';base-uri 'none';form-action 'self';frame-ancestors 'none'",
    );
    assert.equal(page.headers['x-content-type-options'], 'nosniff');
    assert.equal(page.headers['referrer-policy'], 'no-referrer');
    assert.match(String(page.headers['content-type']), /^text\/html/);
  });

  test('every path that names no file is a page, asked for with compression or without', async () => {
    for (const target of ['/', '/messages', '/queue/mx.example?x=1'])
      for (const encoding of [undefined, 'br, gzip']) {
        const headers = { 'accept-encoding': encoding, accept: 'text/html,*/*;q=0.8' };
        const page = await console_.ask('GET', target, { headers });
        assert.ok([200, 503].includes(page.status), `${target} ${encoding}: ${page.status}`);
        assert.match(String(page.headers['content-type']), /^text\/html/);
        assert.match(String(page.headers['cache-control']), /^no-(?:cache|store)$/);
      }
  });

  test('a path of the API that does not exist is 404 in the envelope, and no file lies outside of the folder', async () => {
    for (const target of ['/admin/v1/nothing', '/admin', '/package.json', '/.env', '/x.js']) {
      const answer = await console_.ask('GET', target);
      assert.equal(answer.status, 404, target);
      assert.ok(!answer.text.includes('"dependencies"'));
    }
  });

  test('a path with a control character, or that climbs out of its folder, is 400 or 404 and no failure', async () => {
    const cookie = await console_.signIn('climber');
    for (const target of [
      '/%00',
      '/assets/%00.js',
      '/messages/a%00b',
      '/..%2f..%2fetc/passwd',
      '/..%2fpackage.json',
      '/assets/..%2f..%2fpackage.json',
      '/%2e%2e/package.json',
      '/..%5cpackage.json',
      '/a/%2e%2e%2fpackage.json',
      '/.%2e/x',
      '/admin/v1/%00',
      '/admin/v1/messages/%00',
      '/admin/v1/messages/a%0Ab/ticket',
      '/admin/v1/queue/%00',
      '/admin/v1/queue/x%1b',
      '/admin/v1/webhooks/%00',
      '/admin/v1/domains/%00',
      '/admin/v1/clients/%00',
      '/admin/v1/directory/records/%00',
      '/admin/v1/openapi.json/..%2f..%2fx',
      '/%',
      '/%c0%ae%c0%ae/package.json',
    ])
      for (const accept of ['text/html', '*/*']) {
        const answer = await console_.ask('GET', target, { cookie, headers: { accept } });
        assert.ok([400, 404].includes(answer.status), `${target} as ${accept}: ${answer.status}`);
        assert.ok(!answer.text.includes('"dependencies"'), target);
      }
  });

  test('answers of the API are kept in no cache', async () => {
    const cookie = await console_.signIn('cache');
    assert.equal((await readSession(cookie)).headers['cache-control'], 'no-store');
    assert.equal((await readSession(undefined)).status, 401);
  });
});

test('a request that arrives while the console closes is refused in the envelope', async () => {
  const closing = await startTestConsole();
  const port = Number(new URL(closing.url).port);
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /admin/v1/session HTTP/1.1\r\n');
  await setTimeout(50);
  const closed = closing.close();
  const isListening = async (): Promise<boolean> => {
    const other = connect(port, '127.0.0.1');
    const isOpen = await once(other, 'connect').then(
      () => true,
      () => false,
    );
    other.destroy();
    return isOpen;
  };
  while (await isListening()) await setTimeout(5);
  socket.write('Host: localhost\r\n\r\n');
  const answer = await text(socket);
  await closed;
  assert.match(answer, /^HTTP\/1\.1 503 [^]*"reason":"http_closing"/);
});

test('expired rows are deleted', async () => {
  console_.clock.advance(40 * day);
  assert.ok((await console_.hisp.operators.deleteOld()) > 0);
  const { count } = await console_.hisp.storage
    .tables<{ console_session: { id: string } }>()
    .selectFrom('console_session')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  assert.equal(Number(count), 0);
});

describe('administration of operators', () => {
  test('gives access after a fresh sign-in only, never to the caller, and takes it at once', async () => {
    const cookie = await console_.signIn('chief');
    const auditor = await console_.signIn('looker', 'auditor');
    const ask = (method: string, target: string, body?: unknown) =>
      console_.ask(method, `/admin/v1/operators${target}`, { cookie, body });
    const told = async (answer: ReturnType<typeof ask>) => {
      const { status, body } = await answer;
      return [status, status < 400 ? body['sentence'] : reasonOf({ body })];
    };

    const made = await ask('POST', '', { name: 'Ann Lee', role: 'auditor' });
    assert.equal(made.status, 201);
    const token = /#enter=(.+)$/.exec(String(made.body['link']))?.[1];
    const entered = await enter(String(token));
    assert.equal(entered.body['kind'], 'enrol');
    assert.equal((await console_.audited('operator.create'))[0]?.['actor'], 'operator:chief');
    assert.equal((await console_.audited('operator.link'))[0]?.['actor'], 'operator:chief');
    assert.deepEqual(await told(ask('POST', '', { name: 'ann lee', role: 'auditor' })), [
      409,
      'operators_name_taken',
    ]);
    assert.deepEqual(await told(ask('PATCH', '/Ann%20Lee', { role: 'help-desk' })), [
      200,
      'Ann Lee has the role help-desk.',
    ]);
    const again = await ask('POST', '/Ann%20Lee/link');
    assert.equal(again.status, 201);
    assert.equal((await enter(String(token))).status, 401);

    for (const [method, part, body] of [
      ['PATCH', '', { role: 'auditor' }],
      ['POST', '/disable', undefined],
      ['POST', '/enable', undefined],
      ['POST', '/link', undefined],
      ['DELETE', '/passkeys/last', undefined],
    ] as const)
      assert.deepEqual(await told(ask(method, `/chief${part}`, body)), [409, 'operators_self'], part);

    const { tokens, store } = console_.hisp.operators;
    const looker = await store.get('looker');
    const { entry } = await tokens.create(looker, { label: 'script', lifetimeMs: day });
    const shown = (await ask('GET', '/looker')).body as {
      readonly sessions: readonly { readonly id: string; readonly isCurrent: boolean }[];
      readonly tokens: readonly { readonly id: string; readonly label: string }[];
    };
    assert.deepEqual([shown.sessions[0]?.isCurrent, shown.tokens[0]?.label], [false, 'script']);
    assert.deepEqual(await told(ask('DELETE', `/looker/tokens/${entry.id}`)), [200, 'The token is revoked.']);
    assert.deepEqual(await told(ask('DELETE', `/looker/tokens/${entry.id}`)), [
      404,
      'operators_token_unknown',
    ]);
    assert.deepEqual(await told(ask('DELETE', '/looker/passkeys/none')), [404, 'operators_passkey_unknown']);
    assert.equal((await readSession(auditor)).status, 200);
    assert.deepEqual(await told(ask('DELETE', `/looker/sessions/${shown.sessions[0]?.id}`)), [
      200,
      'The session has ended.',
    ]);
    assert.equal((await readSession(auditor)).status, 401);
    assert.equal((await console_.audited('console.sign-out'))[0]?.['actor'], 'operator:chief');
    assert.deepEqual(await told(ask('POST', '/looker/disable')), [
      200,
      'The operator is disabled, and is signed out everywhere.',
    ]);

    console_.clock.advance(5 * minute + 1);
    for (const [method, target, body] of [
      ['POST', '', { name: 'late', role: 'auditor' }],
      ['POST', '/looker/link', undefined],
      ['POST', '/looker/enable', undefined],
      ['PATCH', '/looker', { role: 'operator' }],
    ] as const)
      assert.deepEqual(await told(ask(method, target, body)), [403, 'operators_sign_in_stale'], target);
    assert.deepEqual(await told(ask('DELETE', '/looker/sessions')), [200, '0 sessions ended.']);
    const { token: ownToken } = await tokens.create(await store.get('chief'), {
      label: 'x',
      lifetimeMs: day,
    });
    const byScript = await console_.ask('POST', '/admin/v1/operators', {
      headers: { authorization: `Bearer ${ownToken}`, origin: undefined },
      body: { name: 'by script', role: 'operator' },
    });
    assert.deepEqual([byScript.status, reasonOf(byScript)], [403, 'operators_sign_in_stale']);
  });
});

test('the nodes are listed with what they serve and the data that they have', async () => {
  const { storage } = console_.hisp;
  const row = { id: 'gone', host: 'elsewhere', version: '0.0.1', serves: 'api', started_at: 1, seen_at: 1 };
  await storage.tables<{ node: typeof row }>().insertInto('node').values(row).execute();
  const answer = await console_.ask('GET', '/admin/v1/nodes', {
    cookie: await console_.signIn('nodes', 'auditor'),
  });
  const [own, gone] = answer.body['result'] as readonly Record<string, unknown>[];
  assert.deepEqual(
    [own?.['isThis'], own?.['isRunning'], own?.['text'], own?.['serves'], own?.['directory']],
    [true, true, 'Running.', ['api', 'mail', 'console'], { generation: null, isActive: true }],
  );
  assert.deepEqual([gone?.['id'], gone?.['isRunning'], gone?.['level']], ['gone', false, 'failed']);
});
