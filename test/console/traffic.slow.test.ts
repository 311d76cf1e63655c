/**
 * A message's place, the reason why it waits or failed, and the actions on it: the screens of the traffic in real Chromium, by keyboard alone, over messages that were
 * really sent.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { createManualClock } from '../../src/core/index.ts';
import {
  createOutsideZone,
  demoAddress,
  domains,
  mailHosts,
  openAuthority,
  partners,
  type PartnerOutcome,
} from '../../src/app/dev/index.ts';
import { makeDeadLetter } from './dead-letter.ts';
import { choose, saveCsv } from './keyboard.ts';
import {
  checkAccessibility,
  checkWidth,
  openConsoleWorld,
  secretWords,
  skip,
  until,
  type ConsoleWorld,
} from './console-world.ts';

const dayMs = 86_400_000;
/** Certified, and nothing listens where its mail server should. */
const downDomain = 'direct.down.example';
/** Its certificate has expired. */
const lapsedDomain = 'direct.lapsed.example';
/** Its name server answers every question with SERVFAIL. */
const brokenDomain = 'direct.broken.example';
/** Gets a message that is larger than its mail server takes. */
const largeAddress = `large@${domains.partner}`;
/** Of every mail server of this world. */
const maxMessageBytes = 1_000_000;

describe('the screens of the traffic', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  let ids: Readonly<Record<PartnerOutcome, string>>;
  let downId: string;
  let lapsedId: string;
  let deadSender: string;

  before(async () => {
    world = await openConsoleWorld({
      'smtp.maxMessageBytes': String(maxMessageBytes),
      // What waits at the beginning waits for all tests.
      'delivery.giveUpHours': '1',
    });
    await publishUnreachable(world);
    lapsedId = await world.send(`bob@${lapsedDomain}`);
    downId = await world.send(`carol@${downDomain}`);
    await world.send(`dan@${brokenDomain}`);
    await world.send(largeAddress, {
      emailAttachmentList: [
        {
          attachmentClass: 'text/plain',
          attachmentContent: Buffer.alloc(maxMessageBytes, 'x').toString('base64'),
          attachmentFileName: 'large.txt',
        },
      ],
    });
    deadSender = await makeDeadLetter(world);
    ids = await world.sendAll();
    page = await world.openPage({ role: 'help-desk' });
  });
  after(() => world.close());

  const press = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const mainText = (): Promise<string> => page.locator('main').innerText();
  const shows = (pattern: RegExp): Promise<string> =>
    until(mainText, (text) => pattern.test(text), `the screen shows ${pattern}`);

  /** Opens the messages, types, and waits until a message to the address is all that is left. */
  async function find(text: string, to: string): Promise<void> {
    await press('Escape', 'g', 'm');
    await page.getByRole('heading', { name: 'Messages' }).waitFor();
    await press('/');
    await page.keyboard.type(text);
    await until(
      () => page.locator('[data-row]').allInnerTexts(),
      (rows) => rows.length > 0 && rows.every((row) => row.startsWith(to)),
      `${text} finds ${to}`,
    );
  }

  /** Opens the first row that was found. */
  async function open(): Promise<void> {
    await press('ArrowDown', 'Enter');
    await page.waitForURL(/\/messages\/.+/);
    await page.locator('.stations').first().waitFor();
  }

  const readDetails = async (id: string): Promise<{ wireId: string; requestId: string }> =>
    (await page.evaluate(
      `fetch('/admin/v1/messages/' + encodeURIComponent(${JSON.stringify(id)})).then((answer) => answer.json())`,
    )) as { wireId: string; requestId: string };

  it('finds a message by each of its names', async () => {
    const { wireId, requestId } = await readDetails(ids.failed);
    for (const name of [wireId, requestId, partners.failed]) await find(name, partners.failed);
    await find(lapsedDomain, `bob@${lapsedDomain}`);
    await find(`<-1h ${partners.untrusted}`, partners.untrusted);
  });

  it('opens a message at once by its message id', async () => {
    await press('Escape', 'g', 'm', '/');
    await page.keyboard.type(ids.failed);
    await press('Enter');
    await shows(new RegExp(`→\\s+${partners.failed}`));
    await press('u');
    await page.getByRole('heading', { name: 'Messages' }).waitFor();
  });

  it("finds a failed message from a caller's information, in few keystrokes", async () => {
    let keystrokes = 0;
    const count = async (...keys: readonly string[]): Promise<void> => {
      for (const key of keys) {
        keystrokes++;
        await page.keyboard.press(key);
      }
    };
    await press('Escape');
    await count('g', 'm');
    await page.getByRole('heading', { name: 'Messages' }).waitFor();
    await count('/', ...'direct.stranger.example <-1h');
    await until(
      () => page.locator('[data-row]').allInnerTexts(),
      (rows) => rows.length === 1,
      'one message is left',
    );
    await count('ArrowDown', 'Enter');
    await shows(/not trusted/);
    console.log(`a failed message by domain and time: ${keystrokes} keystrokes`);
  });

  const reasons: readonly (readonly [string, () => string, RegExp])[] = [
    ['no trusted authority', () => partners.untrusted, /Trust\s+stopped here[\s\S]+What to do:[\s\S]+PKI_/],
    ['no certificate', () => partners.noCertificate, /Certificate\s+stopped here[\s\S]+What to do:/],
    ['a certificate that has expired', () => `bob@${lapsedDomain}`, /Trust\s+stopped here[\s\S]+expired/i],
    ['no answer in time', () => partners.expired, /Processed\s+stopped here[\s\S]+What to do:/],
    ['an unknown recipient', () => partners.failed, /Processed\s+stopped here[\s\S]+What to do:/],
    [
      'a message that is too large',
      () => largeAddress,
      /Sent\s+stopped here[\s\S]+larger than[\s\S]+What to do:[\s\S]+smaller attachments/,
    ],
    ['DNS that does not answer', () => `dan@${brokenDomain}`, /Certificate\s+in progress[\s\S]+What to do:/],
    ['a mail server that is down', () => `carol@${downDomain}`, /Sent\s+in progress[\s\S]+What to do:/],
  ];
  for (const [why, address, expected] of reasons) {
    it(`says where and why a message stopped: ${why}`, async () => {
      await find(address(), address());
      await open();
      await shows(expected);
    });
  }

  it('leads from the reason to where the advice can be followed', async () => {
    await find(partners.untrusted, partners.untrusted);
    await open();
    await choose(page, 'Check this address');
    await page.waitForURL(/\/check\?/);
    await page.locator('.check-decision[data-tone=failed]').waitFor();
    assert.equal(await page.getByLabel('Direct address').inputValue(), partners.untrusted);
    await find(`carol@${downDomain}`, `carol@${downDomain}`);
    await open();
    await choose(page, `Queue of ${downDomain}`);
    await page.waitForURL(new RegExp(`/queue/${downDomain}`));
    await page.getByRole('heading', { name: downDomain }).waitFor();
    await find(partners.dispatched, partners.dispatched);
    await open();
    assert.equal(await page.getByRole('link', { name: 'Check this address' }).count(), 0);
  });

  it('shows a message that arrived as passed at every station', async () => {
    await find(partners.dispatched, partners.dispatched);
    await open();
    assert.equal(await page.locator('.stations li[data-state="ok"]').count(), 6);
  });

  it('retries a message that waits, after a preview, and the audit names who did', async () => {
    await find(`carol@${downDomain}`, `carol@${downDomain}`);
    await open();
    await page.getByRole('button', { name: 'Retry now' }).focus();
    await press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Retry now?' });
    await dialog.waitFor();
    await checkAccessibility(page, 'the question before a retry');
    await press('Enter');
    await dialog.waitFor({ state: 'detached' });
    // The help desk may not read the audit trail.
    const [row] = await until(
      () => world.sandbox.world.hisp.audit.find({ action: 'message.retry', limit: 1 }),
      (rows) => rows.length > 0,
      'the row of the audit trail',
    );
    assert.match(row?.actor ?? '', /test help-desk/);
    assert.doesNotMatch(await page.innerText('main'), /message\.retry/);
  });

  it('copies a message as a ticket without a word of its content', async () => {
    await page.getByRole('button', { name: 'Copy for a ticket' }).focus();
    await press('Enter');
    await page.getByText('Copied.').waitFor();
    const ticket = (await page.evaluate('navigator.clipboard.readText()')) as string;
    assert.match(ticket, new RegExp(`${downId}[\\s\\S]+What to do`));
  });

  it('holds and releases a destination, with a preview each time', async () => {
    await press('Escape', 'g', 'q');
    await shows(new RegExp(downDomain));
    await press('j', 'x');
    await page.getByRole('button', { name: 'Hold' }).focus();
    await press('Enter');
    const hold = page.getByRole('dialog', { name: 'Hold deliveries?' });
    await hold.getByLabel('Reason').waitFor();
    await checkAccessibility(page, 'the preview of a hold');
    await hold.getByLabel('Reason').focus();
    await page.keyboard.type('their maintenance until noon');
    await hold.getByRole('button', { name: 'Hold' }).focus();
    await press('Enter');
    await hold.waitFor({ state: 'detached' });
    await shows(/on hold: their maintenance until noon/);
    await press('j', 'Enter');
    await page.waitForURL(new RegExp(downDomain));
    await page.getByRole('button', { name: 'Release' }).focus();
    await press('Enter');
    const release = page.getByRole('dialog', { name: 'Release deliveries?' });
    await release.getByRole('cell', { name: downDomain }).waitFor();
    await release.getByRole('button', { name: 'Release' }).focus();
    await press('Enter');
    await release.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Hold' }).waitFor();
  });

  it('holds a destination until a time before anything waits for it, and releases it', async () => {
    await world.show(page, '/queue?domain=direct.quiet.example');
    await page.getByRole('link', { name: 'Hold it before its maintenance' }).click();
    await page.getByRole('button', { name: 'Hold' }).click();
    const dialog = page.getByRole('dialog', { name: 'Hold deliveries?' });
    await dialog.getByLabel('Reason').fill('announced');
    await dialog.getByLabel('Until').fill('1/2/2099, 3:04 am');
    await page.keyboard.press('Tab');
    await dialog
      .getByText(/queue hold direct\.quiet\.example --reason announced --until 2099-01-0/)
      .waitFor();
    await checkAccessibility(page, 'the preview of a hold with an end');
    await dialog.getByRole('button', { name: 'Hold' }).click();
    await shows(/On hold: announced[\s\S]*until\s+Jan \d, 2099/);
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
    await page.getByRole('button', { name: 'Hold' }).waitFor();
  });

  it('fails a delivery for good only after its preview', async () => {
    await press('Escape', 'g', 'q');
    await shows(new RegExp(downDomain));
    await press('j', 'x');
    await page.getByRole('button', { name: 'Fail' }).focus();
    await press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Fail these deliveries?' });
    await dialog.getByRole('cell', { name: downDomain }).waitFor();
    await press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Fail' }).focus();
    await press('Enter');
    await dialog.getByRole('cell', { name: downDomain }).waitFor();
    await dialog.getByRole('button', { name: 'Fail' }).focus();
    await press('Enter');
    await until(mainText, (text) => !text.includes(downDomain), 'the destination has left the queue');
  });

  it('lists inbound mail and unacknowledged messages', async () => {
    await press('Escape', 'g', 'i');
    await page.getByRole('heading', { name: 'Inbound' }).waitFor();
    await shows(/echo@direct\.lakeside\.example/);
    await page.getByRole('link', { name: /^Unacknowledged/ }).focus();
    await press('Enter');
    await page.waitForURL(/state=unacknowledged/);
    await shows(/echo@direct\.lakeside\.example/);
    await page.getByRole('link', { name: /^Dead-lettered/ }).focus();
    await press('Enter');
    await shows(new RegExp(deadSender));
  });

  it('saves the queue and inbound mail as the list shows them, for each role that reads them', async () => {
    const auditor = await world.openPage({ role: 'auditor' });
    const files = [
      [`/queue?domain=${brokenDomain}`, 'queue.csv', new RegExp(`^${brokenDomain},1,0,`)],
      [
        `/queue/${brokenDomain}`,
        `queue-${brokenDomain}.csv`,
        new RegExp(`^[\\d-]+T\\S+Z,message,${demoAddress},dan@${brokenDomain},.*,<?[^,]+@${domains.own}>?$`),
      ],
      ['/inbound?state=dead-lettered', 'inbound-dead-lettered.csv', new RegExp(`,${deadSender},`)],
      [
        '/inbound?state=received&from=echo',
        'inbound-received.csv',
        /,received,echo@direct\.lakeside\.example,/,
      ],
      ['/inbound?state=received&from=nobody', 'inbound-received.csv', undefined],
    ] as const;
    for (const one of [page, auditor])
      for (const [target, name, row] of files) {
        await world.show(one, target);
        const saved = await saveCsv(one);
        assert.equal(saved.name, name);
        const rows = saved.lines.slice(1);
        assert.equal(rows.length > 0, row !== undefined, target);
        assert.ok(
          rows.every((line) => row?.test(line)),
          saved.lines.join('\n'),
        );
      }
    await auditor.context().close();
  });

  it('tries a dead letter again, by keyboard, after a preview, and it arrives', async () => {
    await press('Escape', 'g', 'i');
    await choose(page, /^Dead-lettered/);
    await shows(new RegExp(deadSender));
    await press('/');
    await page.keyboard.type('nobody');
    await shows(/No matching mail/);
    await press('Control+a');
    await page.keyboard.type(deadSender);
    await page.getByRole('button', { name: 'Retry' }).waitFor();
    await press('ArrowDown', 'Enter');
    await page.waitForURL(/inbound\/[0-9a-f-]{36}/);
    await choose(page, 'Retry');
    const dialog = page.getByRole('dialog', { name: 'Retry this mail?' });
    await dialog.getByText(deadSender).waitFor();
    await checkAccessibility(page, 'the question before a dead letter is tried again');
    await choose(page, 'Retry');
    await dialog.waitFor({ state: 'detached' });
    await until(
      () => world.sandbox.world.hisp.audit.find({ action: 'message.receive', limit: 10 }),
      (rows) => rows.some(({ objects }) => String(objects['from']) === deadSender),
      'the mail is received',
    );
    await world.show(page, '/inbound?state=received');
    await shows(new RegExp(deadSender));
    const rows = await world.sandbox.world.hisp.audit.find({ action: 'inbound.retry' });
    assert.match(rows[0]?.actor ?? '', /^operator:test help-desk/);
  });

  it('checks an address step by step and writes a letter to the other HISP', async () => {
    await press('Escape', 'g', 'c');
    await page.getByRole('heading', { name: 'Check an address' }).waitFor();
    await press('/');
    await page.keyboard.type(partners.untrusted);
    await press('Enter');
    await shows(/What to do:[\s\S]+Discovery[\s\S]+For the operator of the other HISP/);
    await press('Escape', '/');
    await page.keyboard.type(partners.processed);
    await press('Enter');
    await until(
      () => page.locator('.check-decision').getAttribute('data-tone'),
      (tone) => tone === 'ok',
      'the address can be reached',
    );
  });

  it('shows what needs attention first, and its tiles link to their lists', async () => {
    await press('Escape', 'g', 'n');
    await shows(/Needs attention[\s\S]+Queue[\s\S]+Failures/);
    const tiles = page.locator('.tiles a');
    // The help desk may not open the other three.
    assert.deepEqual([await page.locator('.tiles li').count(), await tiles.count()], [8, 5]);
    const failures = tiles.filter({ hasText: 'Failures' });
    await failures.focus();
    await press('Enter');
    await page.waitForURL(/\/messages\?/);
    await page.locator('[data-row]').first().waitFor();
  });

  it('counts new rows in a button instead of moving the shown rows', async () => {
    await world.show(page, '/messages');
    const before = await page.locator('[data-row]').allInnerTexts();
    const id = await world.send(partners.processed);
    const button = page.locator('[data-new]');
    await button.waitFor();
    assert.match(await button.innerText(), /1 new message/);
    assert.deepEqual(await page.locator('[data-row]').allInnerTexts(), before);
    await press('.');
    await until(
      () => page.locator('[data-row]').first().getAttribute('href'),
      (href) => href?.includes(id.replace('urn:uuid:', '')) === true,
      'the new row is at the top',
    );
  });

  it('has no violation of WCAG 2.2 AA on any screen, light, dark and at 390 px, and never scrolls sideways from 390 to 1600 px', async () => {
    const { audit } = world.sandbox.world.hisp;
    const signer = { signer: 'ab'.repeat(32), issuers: 'cd'.repeat(32), failedAt: 'ab'.repeat(32) };
    const refusal = { from: 'x@direct.other.example', to: demoAddress, reason: 'PKI_ISSUER_NOT_FOUND' };
    await audit.recordNow({
      action: 'message.reject',
      outcome: 'refused',
      objects: { ...refusal, ...signer },
    });
    const bare = (id: string): string => id.replace('urn:uuid:', '');
    const screens = [
      '/',
      '/messages',
      '/messages?q=nothing-like-it',
      `/messages/${bare(ids.untrusted)}`,
      `/messages/${bare(ids.dispatched)}`,
      `/messages/${bare(lapsedId)}`,
      '/queue',
      `/queue/${downDomain}`,
      '/inbound',
      '/inbound?state=unacknowledged',
      '/inbound?state=dead-lettered',
      `/inbound/${(await audit.find({ action: 'message.reject' }))[0]?.sequence}`,
      `/check?address=${encodeURIComponent(partners.untrusted)}`,
    ];
    for (const [theme, width] of [
      ['light', 1440],
      ['dark', 1440],
      ['light', 390],
    ] as const) {
      const shown = await world.openPage({ role: 'auditor', theme, width });
      for (const target of screens) {
        const what = `${target}, ${theme}, ${width} px`;
        await world.show(shown, target);
        if (target.startsWith('/check')) await shown.locator('.check-decision').waitFor();
        await checkAccessibility(shown, what, theme === 'dark' ? 'colors' : undefined);
        await checkWidth(shown, what);
        if (theme === 'dark' || width === 390) continue;
        for (const other of [700, 1000, 1600]) {
          await shown.setViewportSize({ width: other, height: 900 });
          await checkWidth(shown, `${target}, ${other} px`);
          await checkStations(shown, `${target}, ${other} px`);
        }
        await shown.setViewportSize({ width, height: 900 });
      }
      await shown.context().close();
    }
  });

  it('offers nothing that the role may not do', async () => {
    const auditor = await world.openPage({ role: 'auditor' });
    await world.show(auditor, `/messages/${lapsedId.replace('urn:uuid:', '')}`);
    assert.equal(await auditor.getByRole('button', { name: /Retry|^Fail/ }).count(), 0);
    const status = await auditor.evaluate(
      `fetch('/admin/v1/messages/' + encodeURIComponent('${lapsedId}') + '/retry', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }).then((answer) => answer.status)`,
    );
    assert.equal(status, 403);
    await auditor.context().close();
  });

  it('stays as small as it was while the events of an hour come in', async () => {
    const open = await world.openPage();
    // The server tells of changes once a second; here they come faster, each with its reading of the real API.
    await open.addInitScript(`
      const Real = EventSource;
      globalThis.EventSource = class extends Real {
        constructor(url) { super(url); globalThis.live = this; }
      };
      const ask = fetch;
      globalThis.reading = 0;
      globalThis.fetch = (...request) => {
        reading++;
        return ask(...request).finally(() => reading--);
      };
    `);
    await world.show(open, '/messages');
    const devtools = await open.context().newCDPSession(open);
    await devtools.send('HeapProfiler.enable');
    const measure = async () => {
      // A read that later events have overtaken holds on to theirs until the last one is answered.
      await until(
        () => open.evaluate('reading'),
        (count) => count === 0,
        'all reads are answered',
      );
      await open.waitForTimeout(500);
      await devtools.send('HeapProfiler.collectGarbage');
      const { nodes, jsEventListeners } = await devtools.send('Memory.getDOMCounters');
      const { usedSize } = await devtools.send('Runtime.getHeapUsage');
      return { nodes, listeners: jsEventListeners, bytes: usedSize };
    };
    const takeEvents = async (count: number): Promise<void> => {
      await world.send(partners.processed);
      await open.evaluate(`new Promise((resolve) => {
        let left = ${count};
        const timer = setInterval(() => {
          const data = JSON.stringify({ topics: ['messages', 'queue', 'inbound', 'audit'], at: new Date().toISOString() });
          for (let at = 0; at < 10; at++) globalThis.live.dispatchEvent(new MessageEvent('changed', { data }));
          left -= 10;
          if (left > 0) return;
          clearInterval(timer);
          resolve();
        }, 10);
      })`);
      await open.locator('[data-new]').waitFor();
    };
    // Five per second, for an hour.
    const eventsPerRound = 3000;
    await takeEvents(eventsPerRound);
    const first = await measure();
    for (let round = 1; round < 6; round++) await takeEvents(eventsPerRound);
    const last = await measure();
    console.log(
      `open page: ${JSON.stringify(first)}, after ${eventsPerRound * 6} events ${JSON.stringify(last)}`,
    );
    assert.ok(last.nodes <= first.nodes * 1.1 + 100, 'DOM nodes do not grow');
    assert.ok(last.listeners <= first.listeners * 1.1 + 20, 'listeners do not grow');
    assert.ok(last.bytes <= first.bytes * 1.15 + 500_000, 'the heap does not grow');
    await open.context().close();
  });

  it('counts what a search finds, and says when more addresses begin as typed than were searched for', async () => {
    // Ten are looked up.
    const names = Array.from({ length: 11 }, (_, at) => `mara.${String(at).padStart(2, '0')}`);
    for (const name of names) await world.send(`${name}@${lapsedDomain}`);
    const counted = page.locator('main p[role=status]');
    await find('mara.00', `mara.00@${lapsedDomain}`);
    await until(
      () => counted.allInnerTexts(),
      (texts) => texts.includes('1 message'),
      'one is counted',
    );
    assert.doesNotMatch(await mainText(), /more addresses or domains fit/);
    await find('mara.', 'mara.');
    await shows(/more addresses or domains fit; type more of it/);
    assert.ok((await counted.allInnerTexts()).includes('10 messages'));
    await checkAccessibility(page, 'a search that found a part');
  });

  it('names an address as one word on a phone, where it may be broken at its dots', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await world.show(page, `/messages?q=mara.00@${lapsedDomain}`);
    const session = await page.context().newCDPSession(page);
    const { nodes } = await session.send('Accessibility.getFullAXTree');
    const names = nodes.flatMap(({ role, name }) => (role?.value === 'link' ? [String(name?.value)] : []));
    assert.ok(names.includes(`mara.00@${lapsedDomain} from ${demoAddress}`), names.join('\n'));
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it('has received no message content', () => {
    const all = world.received.join('\n');
    assert.ok(all.includes(demoAddress) && all.includes(ids.untrusted));
    for (const word of secretWords) assert.ok(!all.includes(word), `${word} was sent to the browser`);
  });

  it('reports no fault, breaks no rule of its content policy, and asks no other host', () => {
    const refused = /the server responded with a status of 403/;
    assert.deepEqual(
      world.complaints.filter((text) => !refused.test(text)),
      [],
    );
  });
});

/** Fails if the text of a stage runs into the next one. */
async function checkStations(page: Page, what: string): Promise<void> {
  const overflowing = await page.evaluate(
    `[...document.querySelectorAll('.station-text')].filter((text) => text.scrollWidth > text.parentElement.clientWidth).map((text) => text.textContent)`,
  );
  assert.deepEqual(overflowing, [], what);
}

/** A domain whose mail server is down, and one whose certificate has expired. */
async function publishUnreachable({ sandbox: { world, credentialsFile } }: ConsoleWorld): Promise<void> {
  const down = await world.authority.issue({ domain: downDomain });
  const mailHost = `mx.${downDomain}`;
  world.publish(
    createOutsideZone({
      domain: downDomain,
      mailHost,
      mailAddress: '127.0.0.77',
      certificate: down.certificate,
    }),
  );
  world.publish({
    name: brokenDomain,
    findRecords: () => Promise.reject(new Error('the name server is broken')),
  });
  const earlier = await openAuthority({
    folder: path.join(path.dirname(credentialsFile), 'pki'),
    name: 'sandbox',
    baseUrl: `${world.side.baseUrl}/ca`,
    clock: createManualClock(new Date(Date.now() - 800 * dayMs)),
  });
  const lapsed = await earlier.issue({ domain: lapsedDomain });
  world.publish(
    createOutsideZone({ domain: lapsedDomain, mailHost: mailHosts.silent, certificate: lapsed.certificate }),
  );
}
