/** Text of others on the screens: markup, bidirectional controls, invisible characters and words without end, planted wherever a screen shows what came from outside. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { hasHidden } from '../../src/core/index.ts';
import { createOutsideZone, demoAddress, domains } from '../../src/app/dev/index.ts';
import { createAuthority, createKeyPair, issueDirectCertificate } from '../../src/lib/pki/index.ts';
import { checkShown, copyWithHostileRows, readByCommands, readByRoutes } from './hostile-rows.ts';
import { openHostilePeer, type HostilePeer } from './hostile-peer.ts';
import { checkWidth, openConsoleWorld, skip, until, type ConsoleWorld } from './console-world.ts';

const markup = (place: string): string =>
  `"><img src=x onerror="window.hostile='${place}'"><script>window.hostile='${place}'</script>`;
const longWord = 'W'.repeat(120);
const longestWord = 'W'.repeat(10_000);
/** Overrides, isolates and marks, which could show one text as another. */
const bidi = '\u202Eexe.fdp\u2066\u2069\u200F';
const misleading = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\u200B\u2060\uFEFF\0]/;
/** Two addresses that would look the same. */
const invisible = '\u200B\u2060\uFEFF';
/** A formula for a spreadsheet, too. */
const hostile = (place: string): string =>
  `=cmd()${markup(place)}${bidi}${invisible}javascript:window.hostile=1//${longWord}`;
const alef = '\u05D0\u05D1\u05D2';
/** Elements in a line with others whose text could change the order of its neighbors. */
const listUnisolated = `[...document.querySelectorAll('main *')]
  .filter((element) => element instanceof HTMLElement && getComputedStyle(element).display.startsWith('inline') && /[\\u0590-\\u08FF]/.test(element.textContent))
  .filter((element) => !/isolate|plaintext/.test(getComputedStyle(element).unicodeBidi))
  .map((element) => element.outerHTML.slice(0, 100))`;
const peerDomain = 'direct.hostile.example';
const strangerDomain = 'direct.forged.example';
const dayMs = 86_400_000;

/** What operators may store is visible: other characters are refused where they are given. */
const withoutHidden = (text: string): string =>
  [...text].filter((character) => !hasHidden(character)).join('');

describe('hostile text on the screens', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  let peer: HostilePeer;
  let mailServer: TcpServer;
  let endpoint: Server;
  let deferredId: string;
  let forgedId: string;
  let hookId: string;
  let clientId: string;

  const bare = (id: string): string => id.replace('urn:uuid:', '');

  before(async () => {
    world = await openConsoleWorld();
    const { world: sandboxWorld } = world.sandbox;
    mailServer = startMailServer();
    await new Promise<void>((resolve) =>
      mailServer.listen(sandboxWorld.peerPort, '127.0.0.79', () => resolve()),
    );
    peer = await openHostilePeer(world.sandbox, { domain: peerDomain, mailAddress: '127.0.0.79' });
    endpoint = createServer((request, response) => {
      request.resume();
      response
        .writeHead(500, { 'content-type': 'text/html' })
        .end(`${hostile('webhook answer')}\0${longestWord}`);
    });
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', () => resolve()));
    const hook = (await world.client.post('/messaging/webhooks', {
      url: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`,
      description: withoutHidden(hostile('webhook description')).slice(0, 200),
    })) as { readonly webhook: { readonly id: string } };
    hookId = hook.webhook.id;
    clientId = (
      await sandboxWorld.hisp.oauth.clients.create({
        name: withoutHidden(hostile('client name')).slice(0, 200),
        scopes: ['messaging.api'],
      })
    ).clientId;
    await publishForged();
    deferredId = await world.send(`deferred@${peerDomain}`);
    forgedId = await world.send(`bob@${strangerDomain}`);
    page = await world.openPage({ width: 390 });
  });
  after(async () => {
    await world?.close();
    mailServer?.close();
    endpoint?.close();
  });

  /** Takes mail for `taken@`, and defers all other with a reply of several lines. */
  function startMailServer(): TcpServer {
    return createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('220 mx ready\r\n');
      let isData = false;
      let rest = '';
      socket.on('data', (chunk: Buffer) => {
        rest += chunk.toString('latin1');
        for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
          const line = rest.slice(0, end);
          rest = rest.slice(end + 2);
          if (isData) {
            if (line !== '.') continue;
            isData = false;
            socket.write('250 taken\r\n');
          } else if (/^STARTTLS/i.test(line)) {
            socket.write('502 no TLS here\r\n');
          } else if (/^DATA/i.test(line)) {
            isData = true;
            socket.write('354 go on\r\n');
          } else if (/^RCPT TO:<deferred/i.test(line)) {
            socket.write(
              `450-4.2.1 ${hostile('reply')}${longestWord}\r\n450 4.2.1 ${hostile('second line')}\r\n`,
            );
          } else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
          else socket.write('250 ok\r\n');
        }
      });
    });
  }

  /** A domain whose certificate was issued by an authority with such a name. */
  async function publishForged(): Promise<void> {
    const keys = await createKeyPair();
    const dates = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };
    const authority = createAuthority({
      subject: [
        ['O', hostile('organization')],
        ['CN', hostile('common name')],
      ],
      ...keys,
      ...dates,
    });
    const own = await createKeyPair();
    const certificate = issueDirectCertificate({
      boundTo: { domain: strangerDomain },
      publicKey: own.publicKey,
      issuer: { certificate: authority, privateKey: keys.privateKey },
      ...dates,
    });
    world.sandbox.world.publish(
      createOutsideZone({
        domain: strangerDomain,
        mailHost: `mx.${strangerDomain}`,
        mailAddress: '127.0.0.79',
        certificate,
      }),
    );
  }

  const readDetails = async (id: string): Promise<{ wireId: string; text: string }> => {
    const text = (await page.evaluate(
      `fetch('/admin/v1/messages/' + encodeURIComponent(${JSON.stringify(id)})).then((answer) => answer.text())`,
    )) as string;
    return { ...(JSON.parse(text) as { wireId: string }), text };
  };

  /** Nothing ran, nothing was made of the markup, nothing reorders the text, and the page does not scroll sideways. */
  async function check(what: string): Promise<void> {
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await checkWidth(page, `${what}, ${width} px`);
    }
    assert.equal(await page.evaluate('window.hostile'), undefined, `${what}: a script ran`);
    const made = await page.evaluate(
      `document.querySelectorAll('[onerror], img[src="x"], body script').length`,
    );
    assert.equal(made, 0, `${what}: elements were made of text`);
    const all = (await page.evaluate(
      `document.title + document.body.textContent + [...document.querySelectorAll('*')].flatMap((element) => [...element.attributes].map(({ value }) => value)).join('')`,
    )) as string;
    assert.equal(
      misleading.exec(all)?.[0],
      undefined,
      `${what}: text may mislead: ${all.slice(Math.max(0, all.search(misleading) - 100)).slice(0, 200)}`,
    );
    await page.setViewportSize({ width: 390, height: 900 });
  }

  const shows = (pattern: RegExp): Promise<unknown> =>
    until(
      async () => (await page.locator('main').textContent()) ?? '',
      (text) => pattern.test(text),
      `the screen shows ${pattern}`,
    );

  it('names in a certificate', async () => {
    await until(
      () => readDetails(forgedId),
      ({ text }) => text.includes('"isFinal":true'),
      'the message is refused',
    );
    await world.show(page, `/messages/${bare(forgedId)}`);
    await check('a message that is not trusted');
    await world.show(page, `/check?address=${encodeURIComponent(`bob@${strangerDomain}`)}`);
    await page.locator('.check-decision').waitFor();
    await shows(/onerror/);
    await check('the check of an address');
  });

  it('the answer and the description of a webhook', async () => {
    await world.show(page, '/webhooks');
    await shows(/onerror/);
    await check('the webhooks');
    await world.show(page, `/webhooks/${hookId}`);
    await until(
      async () => {
        await page.reload();
        await page.locator('main h1').first().waitFor();
        await page.waitForTimeout(500);
        return (await page.locator('main').textContent()) ?? '';
      },
      (text) => text.includes("'webhook answer'"),
      'the answer is shown',
    );
    await check('a webhook');
  });

  it('the name of a client', async () => {
    await world.show(page, '/clients');
    await shows(/'client name'/);
    await check('the clients');
    await world.show(page, `/clients/${clientId}`);
    await shows(/'client name'/);
    await check('a client');
    await world.show(page, '/messages');
    await check('the filters of the messages');
  });

  it('the values of a directory row, and the name of an uploaded file', async () => {
    await world.show(page, '/directory/sources');
    const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
    const rows = [
      'serv_direct_addr,prov_first_name,prov_last_name,org_name,org_addr_1,org_city,org_state,org_zip',
      `one@${peerDomain},Ann,Hostilesson,${quoted(hostile('organization name'))},${quoted(hostile('street'))},Chicago,IL,60601`,
      `two@${peerDomain},${alef},Hostilesson,${alef} 12,${longestWord.slice(0, 200)},Chicago,IL,60601`,
      `${quoted(hostile('address'))},Ann,Other,,,,,`,
    ];
    await page.locator('input[type=file]').setInputFiles({
      name: `${hostile('file name').replaceAll('/', '_').slice(0, 120)}.csv`,
      mimeType: 'text/csv',
      buffer: Buffer.from(`${rows.join('\n')}\n`),
    });
    await page.locator('input[name=source]').fill('hostile');
    await check('the form of an upload');
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await page.getByRole('button', { name: 'Load it with this loss' }).click();
    await shows(/Loaded. The new directory is active/);
    const load = page.locator('details.load').filter({ hasText: 'onerror' }).first();
    await load.waitFor();
    if ((await load.getAttribute('open')) === null) await load.locator('summary').click();
    await load.locator('.load-report').waitFor();
    await check('the report of a load');
    await world.show(page, '/directory?prov_last_name=hostilesson');
    await page.locator('[data-row]').first().waitFor();
    await check('the results of a search');
    await page.locator('[data-row]').first().click();
    await page.getByRole('heading', { name: 'Served values' }).waitFor();
    await shows(/'organization name'/);
    await check('a record');
  });

  it('text from right to left, which stays in its own place', async () => {
    await world.show(
      page,
      '/directory?prov_last_name=hostilesson&prov_first_name=' + encodeURIComponent(alef),
    );
    await page.setViewportSize({ width: 1440, height: 900 });
    const row = page.locator('[data-row]').first();
    await row.waitFor();
    // Where a text of letters from right to left ends, what follows stays on its right.
    const places = (await page.evaluate(
      `[...document.querySelector('[data-row]').closest('tr').querySelectorAll('td')].map((cell) => cell.getBoundingClientRect().left)`,
    )) as number[];
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
    assert.deepEqual(await page.evaluate(listUnisolated), []);
    await page.setViewportSize({ width: 390, height: 900 });
  });

  it('the header fields of incoming mail', async () => {
    const from = `From: "${markup('display name').replaceAll('"', "'")}" <mallory@${peerDomain}>`;
    const id = `<${'x'.repeat(200)}.onerror@${peerDomain}>`;
    await peer.send(
      `${peer.header(id).replace(/^From: .*/, from)}Subject: ${markup('subject')}\r\nContent-Type: text/plain\r\n\r\nx\r\n`,
    );
    await peer.sendRaw(
      `${from}\r\nTo: ${demoAddress}\r\nMessage-ID: <${markup('id').replaceAll(/[<> ]/g, '')}@x>\r\n\r\nx\r\n`,
    );
    const { audit } = world.sandbox.world.hisp;
    await until(
      () => audit.find({ action: 'message.receive', limit: 10 }),
      (rows) => rows.some(({ objects }) => String(objects['from']).endsWith(peerDomain)),
      'the mail is received',
    );
    for (const state of ['received', 'refused', 'unacknowledged']) {
      await world.show(page, `/inbound?state=${state}`);
      await shows(new RegExp(peerDomain));
      await check(`inbound, ${state}`);
    }
    await world.show(page, `/messages?q=${peerDomain}`);
    await page.locator('[data-row]').first().waitFor();
    await check('messages of the peer');
    await world.show(page, `/messages/${encodeURIComponent(id)}`);
    await check('a received message');
  });

  it('the reason of a hold, a search, and a browser', async () => {
    const hold = await page.evaluate(
      `fetch('/admin/v1/queue/actions', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ action: 'hold', destinations: ['${peerDomain}'], reason: ${JSON.stringify(withoutHidden(hostile('hold')).slice(0, 200))}, preview: false }) }).then((answer) => answer.status)`,
    );
    assert.equal(hold, 200);
    await world.show(page, '/queue');
    await shows(/onerror/);
    await check('a hold');
    await world.show(page, '/');
    await check('now');
    for (const screen of [
      '/messages?q=',
      '/queue?domain=',
      '/check?address=',
      '/audit?actor=',
      '/directory?org_name=',
    ]) {
      await page.goto(`${world.consoleUrl}${screen}${encodeURIComponent(markup('search') + longWord)}`);
      await page.locator('main h1').first().waitFor();
      await page.waitForTimeout(300);
      await check(screen);
    }
    const { store, links } = world.sandbox.world.hisp.operators;
    const { id, name } = await store.create('odd browser', 'operator');
    const { token } = await links.create(id, name, 'sign-in');
    const odd = await world.browser.newContext({ userAgent: `${markup('browser')}${longWord}` });
    const other = await odd.newPage();
    await other.goto(`${world.consoleUrl}/#enter=${token}`);
    await other.getByRole('navigation', { name: 'Screens' }).waitFor();
    await world.show(other, '/sessions');
    const before = page;
    page = other;
    await shows(/<img/);
    await check('the sessions');
    page = before;
    await odd.close();
  });

  it('the audit trail, and its export as a file that no browser shows', async () => {
    await world.show(page, '/audit');
    await check('the audit trail');
    const auditor = await world.openPage({ role: 'auditor' });
    const [type, disposition, sniff, text] = (await auditor.evaluate(
      `fetch('/admin/v1/audit/export').then(async (answer) => [answer.headers.get('content-type'), answer.headers.get('content-disposition'), answer.headers.get('x-content-type-options'), await answer.text()])`,
    )) as [string, string, string, string];
    assert.match(type, /^application\/x-ndjson/);
    assert.match(disposition, /^attachment/);
    assert.equal(sniff, 'nosniff');
    const lines = text.trim().split('\n');
    assert.ok(lines.length > 10);
    // One object per line: no value opens a line or a field of a spreadsheet.
    for (const line of lines) assert.match(line, /^\{"/);
    for (const line of lines) JSON.parse(line);
    await auditor.context().close();
  });

  it('a reply of a mail server', async () => {
    await until(
      () => readDetails(deferredId),
      ({ text }) => text.includes('onerror'),
      'the first attempt',
    );
    await world.show(page, `/messages/${bare(deferredId)}`);
    await shows(/window\.hostile='reply'/);
    await check('a message that was deferred');
    await world.show(page, '/queue');
    await check('the queue');
    await world.show(page, `/queue/${peerDomain}`);
    await shows(/onerror/);
    await check('a destination');
    const ticket = (await page.evaluate(
      `fetch('/admin/v1/messages/' + encodeURIComponent(${JSON.stringify(deferredId)}) + '/ticket').then(async (answer) => [answer.headers.get('content-type'), answer.headers.get('x-content-type-options'), await answer.text()])`,
    )) as [string, string, string];
    assert.match(ticket[0], /^text\/plain/);
    assert.equal(ticket[1], 'nosniff');
    assert.match(ticket[2], /^Attempt .*window\.hostile='reply'/m);
    assert.doesNotMatch(ticket[2], misleading);
    // The service writes the beginning of each line: a reply cannot add a line.
    assert.doesNotMatch(ticket[2], /^(?:=|"|<)/m);
  });

  it('rows of every table, on the command line, in the admin API and in exports', async () => {
    const { dataDir } = world.sandbox;
    const names = {
      'message show': [deferredId, forgedId],
      'message evidence': [deferredId],
      'webhook show': [hookId],
      'client show': [clientId],
      'address show': [demoAddress],
      'address list': [domains.own],
      'key list': [domains.own],
      'anchor list': [domains.own],
      messageId: [deferredId, forgedId],
      id: [hookId, clientId, '1'],
      address: [demoAddress],
      domain: [domains.own],
      destination: [peerDomain],
      '/audit/export': ['format=csv'],
      '/inbound': ['state=received', 'state=refused', 'state=unacknowledged'],
    };
    const of = 4;
    for (let remainder = 0; remainder < of; remainder++) {
      const copy = `${dataDir}-${remainder}`;
      const changed = await copyWithHostileRows(dataDir, copy, { remainder, of });
      assert.ok(changed > 50, String(changed));
      let [count, hostileCount] = [0, 0];
      for (const read of [readByCommands, readByRoutes])
        for await (const shown of read(copy, names)) {
          checkShown(shown);
          count++;
          if (shown.text.includes('/c calc')) hostileCount++;
        }
      assert.ok(count > 80 && hostileCount > 20, `${hostileCount} of ${count} show hostile text`);
    }
  });

  it('breaks no rule of the content policy', () => {
    const expected = /status of (?:400|404)/;
    assert.deepEqual(
      world.complaints.filter((text) => !expected.test(text)),
      [],
    );
  });
});
