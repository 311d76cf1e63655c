/** Cases of the Edge Testing Tool for the MDNs and DSNs about what an edge sent, by their ids there, between two HISPs. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { partners, type Sandbox } from '../../src/app/dev/index.ts';
import type { ClientIdentity } from '../../src/service/oauth/index.ts';
import { openTestSandbox, waitFor } from '../system/sandbox-fixture.ts';
import { openDialogue, type Dialogue } from './start-edges.ts';

interface Case {
  /** Ids for SMTP, IMAP and POP3, and the number in the tool's list. */
  readonly ids: string;
  readonly what: string;
  readonly to: string;
  readonly asksFinal: boolean;
  /** Subjects of these MDNs and DSNs, in order. */
  readonly outcomes: readonly RegExp[];
}

const undeliverable = /^Undeliverable/;
const cases: readonly Case[] = [
  {
    ids: '101, 105, 109 (MT1, 5, 9)',
    what: 'a bad address',
    to: partners.failed,
    asksFinal: false,
    outcomes: [undeliverable],
  },
  {
    ids: '102, 106, 110 (MT2, 6, 10)',
    what: 'an untrusted one',
    to: partners.untrusted,
    asksFinal: false,
    outcomes: [undeliverable],
  },
  {
    ids: '103, 107, 111 (MT3, 7, 11)',
    what: 'one without certificate',
    to: partners.noCertificate,
    asksFinal: false,
    outcomes: [undeliverable],
  },
  {
    ids: '104, 108, 112 (MT4, 8, 12)',
    what: 'one that sends no processed MDN',
    to: partners.expired,
    asksFinal: false,
    outcomes: [undeliverable],
  },
  {
    ids: '521, 121, 151 (MT21)',
    what: 'one that confirms as asked',
    to: partners.dispatched,
    asksFinal: true,
    outcomes: [/^Dispatched/],
  },
  {
    ids: '523, 123, 623 (MT23)',
    what: 'a bad address, asking for the final delivery',
    to: partners.failed,
    asksFinal: true,
    outcomes: [undeliverable],
  },
  {
    ids: '524, 124, 624 (MT24)',
    what: 'an untrusted one, asking for it',
    to: partners.untrusted,
    asksFinal: true,
    outcomes: [undeliverable],
  },
  {
    ids: '525, 125, 625 (MT25)',
    what: 'one without certificate, asking for it',
    to: partners.noCertificate,
    asksFinal: true,
    outcomes: [undeliverable],
  },
  {
    ids: '526, 126, 626 (MT26)',
    what: 'one that sends no processed MDN, asking for it',
    to: partners.expired,
    asksFinal: true,
    outcomes: [undeliverable],
  },
  {
    ids: '527, 127, 157 (MT27)',
    what: 'one that sends no dispatched MDN',
    to: partners.processed,
    asksFinal: true,
    outcomes: [undeliverable],
  },
  {
    ids: '529, 129, 159 (MT29)',
    what: 'one that processes it, with nothing else asked',
    to: partners.processed,
    asksFinal: false,
    outcomes: [/^Processed/],
  },
];

let sandbox: Sandbox;
let close: () => Promise<void>;
let ca: string;
before(async () => {
  ({ sandbox, close } = await openTestSandbox({ 'messaging.dispatchedWindowMinutes': '0.4' }));
  ca = await readFile(sandbox.edge.caFile, 'utf8');
  const smtp = await open('smtps');
  try {
    const { username, password, address } = sandbox.edge;
    const plain = Buffer.from(`\0${username}\0${password}`).toString('base64');
    const say = async (words: string): Promise<void> => {
      if (words !== '') smtp.send(`${words}\r\n`);
      let line = await smtp.line();
      while (line?.[3] === '-') line = await smtp.line();
      assert.match(line ?? 'ended', /^[23]/, words);
    };
    for (const words of ['', 'EHLO client.example', `AUTH PLAIN ${plain}`]) await say(words);
    for (const [index, { to, asksFinal }] of cases.entries()) {
      const value = `X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,${asksFinal}`;
      const header = `From: ${address}\r\nTo: ${to}\r\nSubject: x\r\nMessage-ID: <${idOf(index)}>\r\nDisposition-Notification-Options: ${value}`;
      for (const words of [`MAIL FROM:<${address}>`, `RCPT TO:<${to}>`, 'DATA', `${header}\r\n\r\nHi\r\n.`])
        await say(words);
    }
  } finally {
    smtp.end();
  }
});
after(() => close());

const idOf = (index: number): string => `ett-${index}-x@client.example`;

const open = (name: 'smtps' | 'imaps' | 'pop3s'): Promise<Dialogue> =>
  openDialogue(Number(sandbox.edge[name]?.split(':')[1]), ca);

/** The octets of all messages. */
async function readImap(): Promise<readonly string[]> {
  const imap = await open('imaps');
  try {
    await imap.line();
    await imap.imap(`LOGIN ${sandbox.edge.username} ${sandbox.edge.password}`);
    await imap.imap('SELECT INBOX');
    return (await imap.imap('FETCH 1:* BODY.PEEK[]')).untagged;
  } finally {
    imap.end();
  }
}

async function readPop3(): Promise<readonly string[]> {
  const pop3 = await open('pop3s');
  try {
    await pop3.line();
    await pop3.ask(`USER ${sandbox.edge.username}`);
    await pop3.ask(`PASS ${sandbox.edge.password}`);
    const count = Number((await pop3.ask('STAT'))?.split(' ')[1]);
    const messages: string[] = [];
    for (let number = 1; number <= count; number++) {
      let text = '';
      pop3.send(`TOP ${number} 100\r\n`);
      for (let line = await pop3.line(); line !== '.'; line = await pop3.line()) {
        assert.ok(line !== undefined);
        text += `${line}\n`;
      }
      messages.push(text);
    }
    return messages;
  } finally {
    pop3.end();
  }
}

const subjectsOf = (messages: readonly string[], index: number): readonly string[] =>
  messages
    .filter((text) => text.includes(idOf(index)))
    .map((text) => /^Subject: (.*)$/m.exec(text)?.[1]?.trim() ?? '');

describe('MDNs and DSNs about what an edge sent', () => {
  for (const [index, { ids, what, asksFinal, outcomes }] of cases.entries())
    it(`ETT ${ids}: to ${what}: ${outcomes.join()} by IMAP and POP3, and nothing else`, async () => {
      const found = await waitFor(readImap, (all) => subjectsOf(all, index).length > 0, 120);
      for (const messages of [found, await readPop3()]) {
        const subjects = subjectsOf(messages, index);
        assert.equal(subjects.length, outcomes.length, `${asksFinal}: ${subjects.join()}`);
        for (const [at, outcome] of outcomes.entries()) assert.match(subjects[at] ?? '', outcome);
      }
    });

  it('ETT 528, 128, 158 (MT28): a dispatched MDN after the failure was told is handed on to nobody', async () => {
    const index = cases.findIndex(({ ids }) => ids.startsWith('527'));
    await waitFor(readImap, (all) => subjectsOf(all, index).length > 0, 120);
    const partner = {
      clientId: 'partner',
      directAddresses: [partners.processed],
    } as unknown as ClientIdentity;
    const { messaging } = sandbox.world.partner;
    const { messages } = await messaging.listInbox(partner, {});
    assert.ok(messages.length > 0);
    const before = await countDispatched();
    for (const { messageId } of messages) await messaging.acknowledge(partner, messageId, {});
    await waitFor(countDispatched, (count) => count > before, 60);
    assert.deepEqual(subjectsOf(await readImap(), index).length, 1);
    assert.deepEqual(subjectsOf(await readPop3(), index).length, 1);
  });
});

/** What our HISP has noted of dispatched MDNs. */
async function countDispatched(): Promise<number> {
  const db = sandbox.world.hisp.storage.tables<{ recipient_event: object }>();
  const rows = await db.selectFrom('recipient_event').selectAll().execute();
  return rows.filter((row) => JSON.stringify(row).includes('dispatched')).length;
}
