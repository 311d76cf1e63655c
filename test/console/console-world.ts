/** The two-HISP world with its console in real Chromium: what every test of a screen starts from. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { silentLog } from '../../src/core/index.ts';
import {
  createEdgeClient,
  demoAddress,
  partners,
  startSandbox,
  type EdgeClient,
  type PartnerOutcome,
  type Sandbox,
} from '../../src/app/dev/index.ts';
import { needsBrowser, openBrowser } from '../support/browser.ts';
import { createDeadline, timeScale } from '../support/time-scale.ts';

/** For `describe(…, { skip })`. */
export const { skip } = needsBrowser;
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const waitMs = 30_000 * timeScale();

/** Long enough for the partner's answer on a busy machine, short enough to see a message expire. */
const processedWindowMinutes = '0.15';

/** Text in every message that this world sends; no screen may show it. */
export const secretWords = [
  'Zanzibarsson',
  'PATIENT-777-SECRET',
  'confidential-subject',
  'secret-summary.xml',
  'Quetzalina',
  '19130228',
];

export type Theme = 'light' | 'dark';
type Role = 'help-desk' | 'operator' | 'auditor' | 'administrator';

export interface PageOptions {
  readonly role?: Role;
  /** Whose operator it is. */
  readonly organization?: string;
  readonly theme?: Theme;
  readonly width?: number;
}

export interface ConsoleWorld {
  readonly sandbox: Sandbox;
  /** The demo client of the edge API. */
  readonly client: EdgeClient;
  readonly consoleUrl: string;
  readonly browser: Browser;
  /** Faults of all pages so far: console errors, breaches of the content policy, requests to elsewhere. */
  readonly complaints: readonly string[];
  /** Every text that the browser has received from the console. */
  readonly received: readonly string[];
  /** Sends one message with the words that no screen may show; returns its id. */
  send(to: string, extra?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Sends to each partner outcome, once per world, and waits until all is decided. */
  sendAll(): Promise<Readonly<Record<PartnerOutcome, string>>>;
  /** A page of a new browser profile, signed in as a new operator of the role. */
  openPage(options?: PageOptions): Promise<Page>;
  /** Opens a path of the console and waits until its content stands. */
  show(page: Page, target: string): Promise<void>;
  close(): Promise<void>;
}

export async function openConsoleWorld(
  settings: Readonly<Record<string, string>> = {},
): Promise<ConsoleWorld> {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-console-'));
  const sandbox = await startSandbox({
    folder,
    httpPort: 0,
    log: silentLog,
    settings: { 'messaging.processedWindowMinutes': processedWindowMinutes, ...settings },
  });
  const consoleUrl = sandbox.world.hisp.consoleUrl ?? '';
  const client = createEdgeClient(sandbox.credentials);
  const browser = await openBrowser(['--enable-precise-memory-info', '--js-flags=--expose-gc']);
  const complaints: string[] = [];
  const received: string[] = [];
  let count = 0;
  let sent: Promise<Readonly<Record<PartnerOutcome, string>>> | undefined;

  async function send(to: string, extra: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { messageId } = (await client.post('/messaging/dirmsg/send_ccda', {
      fromDirectAddress: demoAddress,
      toDirectAddress: to,
      messageSubject: secretWords[2],
      messageBody: `${secretWords[0]} ${secretWords[1]}`,
      emailAttachmentList: [
        {
          attachmentClass: 'text/xml',
          attachmentContent: Buffer.from(`<note>${secretWords.join(' ')}</note>`).toString('base64'),
          attachmentTitle: secretWords[2],
          attachmentFileName: secretWords[3],
        },
      ],
      patientLastname: secretWords[0],
      patientFirstname: secretWords[4],
      patientId: secretWords[1],
      assigning_authority: '2.16.840.1.113883.19.5',
      patientDOB: secretWords[5],
      patientGender: 'F',
      ...extra,
    })) as { readonly messageId: string };
    return messageId;
  }

  async function sendOutcomes(): Promise<Readonly<Record<PartnerOutcome, string>>> {
    const ids = {} as Record<PartnerOutcome, string>;
    for (const [outcome, address] of Object.entries(partners) as [PartnerOutcome, string][])
      ids[outcome] = await send(address, { requestFinalDelivery: outcome === 'dispatched' });
    for (const [outcome, id] of Object.entries(ids)) {
      await until(
        async () => {
          const answer = (await client.get(`/messaging/dirmsg/status/${encodeURIComponent(id)}`)) as {
            readonly messageStatus: string;
          };
          return answer.messageStatus;
        },
        (status) => !['queued', 'sent'].includes(status),
        `the message to ${outcome} is decided`,
      );
    }
    return ids;
  }

  async function openPage({
    role = 'operator',
    organization,
    theme = 'light',
    width = 1440,
  }: PageOptions = {}) {
    const context = await browser.newContext({
      colorScheme: theme,
      viewport: { width, height: 900 },
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    watch(context, consoleUrl, complaints, received);
    const page = await context.newPage();
    page.setDefaultTimeout(waitMs);
    const { store, links } = sandbox.world.hisp.operators;
    const name = `test ${role} ${++count}`;
    const { id } = await store.create(name, role, organization);
    const { token } = await links.create(id, name, 'sign-in');
    await page.goto(`${consoleUrl}/#enter=${token}`);
    // On narrow screens the navigation is behind a button.
    await page.locator('header.side').waitFor();
    return page;
  }

  return {
    sandbox,
    client,
    consoleUrl,
    browser,
    complaints,
    received,
    send,
    sendAll: () => (sent ??= sendOutcomes()),
    openPage,
    async show(page, target) {
      await page.goto(`${consoleUrl}${target}`);
      await page.locator('main h1').first().waitFor();
      await until(
        () => page.locator('main .loading').count(),
        (count) => count === 0,
        `${target} to be loaded`,
      );
    },
    async close() {
      await browser.close();
      await sandbox.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function watch(context: BrowserContext, ownUrl: string, complaints: string[], received: string[]): void {
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()}`);
  });
  context.on('weberror', (error) => complaints.push(`error: ${error.error().message}`));
  context.on('request', (request) => {
    const url = request.url();
    if (!/^(data|blob):/.test(url) && !url.startsWith(ownUrl)) complaints.push(`asked for ${url}`);
  });
  context.on('requestfinished', (request) => {
    if (!request.url().includes('/admin/v1/') || request.url().endsWith('/live')) return;
    void request
      .response()
      .then((response) => response?.text())
      .then(
        (text) => received.push(text ?? ''),
        () => undefined,
      );
  });
}

/** Asks until the answer fits; fails with what was seen last. */
export async function until<Value>(
  ask: () => Promise<Value> | Value,
  fits: (value: Value) => boolean,
  what: string,
): Promise<Value> {
  const deadline = createDeadline(waitMs);
  for (;;) {
    const value = await ask();
    if (fits(value)) return value;
    if (deadline.isOver()) assert.fail(`${what}: not in time; ${JSON.stringify(value)?.slice(0, 1000)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const axeRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/**
 * Fails if axe-core finds a violation of WCAG 2.2 A or AA, or of its best practices, in what the page shows; with `colors`, of contrast
 * alone: all that another theme changes.
 */
export async function checkAccessibility(page: Page, what: string, only?: 'colors'): Promise<void> {
  // The strict content policy of the page refuses an injected script tag; what is evaluated is no part of the page.
  await page.evaluate(axeSource);
  const runOnly =
    only === undefined ? { type: 'tag', values: axeRules } : { type: 'rule', values: ['color-contrast'] };
  const { violations } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], runOnly })})`,
  )) as AxeResults;
  const found = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes
        .slice(0, 3)
        .map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary ?? ''}`)
        .join(' | ')}`,
  );
  assert.deepEqual(found, [], what);
}

/** Fails if the page or a table on it scrolls sideways. */
export async function checkWidth(page: Page, what: string): Promise<void> {
  const [content, shown] = (await page.evaluate(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  )) as [number, number];
  assert.ok(content <= shown, `${what}: ${content} px of content in ${shown} px`);
  const tables = (await page.evaluate(
    `[...document.querySelectorAll('.table-frame')].map((frame) => [frame.querySelector('caption, th')?.textContent, frame.scrollWidth, frame.clientWidth])`,
  )) as [string, number, number][];
  for (const [name, inner, outer] of tables)
    assert.ok(inner <= outer, `${what}: the table ${name} needs ${inner} px and has ${outer} px`);
}
