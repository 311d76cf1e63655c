/** What the policies of an edge account change, and that what one edge takes is taken for all. */
import assert from 'node:assert/strict';
import { after, beforeEach, it, type TestContext } from 'node:test';
import { readXdm } from '../../src/lib/xdm/index.ts';
import type { EdgePolicies } from '../../src/service/edges/index.ts';
import { alice, bob } from '../messaging/start-messaging.ts';
import { endsWith, forgetAll, startTestEdges, type Dialogue } from './start-edges.ts';

const world = await startTestEdges();
after(() => world.close());
const { password } = await world.createAccount();
const setPolicies = (policies: Partial<EdgePolicies>) => world.edges.accounts.update(alice, { policies });

const emptyMailboxes = () =>
  world.storage.tables<{ edge_mail: { uid: number } }>().deleteFrom('edge_mail').execute();

beforeEach(async () => {
  await setPolicies({
    requestsFinalDelivery: true,
    noticesInMailbox: true,
    inbound: 'as-it-came',
    acknowledgedBy: 'fetched',
  });
  await emptyMailboxes();
  await forgetAll(world);
  world.deliveries.splice(0);
});

async function openInbox(t: TestContext): Promise<Dialogue> {
  const imap = endsWith(t, await world.open('imaps'));
  await imap.line();
  await imap.imap(`LOGIN ${alice} ${password}`);
  await imap.imap('SELECT INBOX');
  return imap;
}

let count = 0;
const report = '<ClinicalDocument>report</ClinicalDocument>';
/** A text and a document, loose or packed. */
async function receive(document: readonly string[], ...headers: readonly string[]): Promise<string> {
  const inner = [
    `From: ${bob}`,
    `To: ${alice}`,
    'Subject: RR',
    `Message-ID: <policy${++count}@beta.example>`,
    ...headers,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'Hello',
    '--b',
    ...document,
    '--b--',
    '',
  ].join('\r\n');
  await world.receive({ from: bob, to: [alice], inner });
  return inner;
}
const loose = [
  'Content-Type: application/xml; name=rr.xml',
  'Content-Disposition: attachment; filename=rr.xml',
  '',
  report,
];

/** The literal of an answer to FETCH. */
const literalOf = ([answer = '']: readonly string[]): string => answer.slice(answer.indexOf('\n') + 1, -1);

async function fetchWhole(imap: Dialogue): Promise<string> {
  const first = literalOf((await imap.imap('FETCH 1 BODY.PEEK[]')).untagged);
  // With the size that it was told, and the same octets again in a session that holds none of it.
  const [told = ''] = (await imap.imap('FETCH 1 RFC822.SIZE')).untagged;
  assert.equal(told, `* 1 FETCH (RFC822.SIZE ${Buffer.byteLength(first)})`);
  return first;
}

const waiting = async (): Promise<number> =>
  (await world.messaging.listInbox(world.clinic, {})).messages.length;

/** The octets of the part with this type. */
function partOf(mail: string, type: string): Buffer {
  const found = new RegExp(`Content-Type: ${type}[^]*?\r\n\r\n([^]*?)\r\n--`, 'i').exec(mail)?.[1];
  assert.ok(found !== undefined, mail);
  return Buffer.from(found, 'base64');
}

it('inbound: a package is unpacked into a mail with the document by its name, as eCRNow reads it; loose documents are packed; or all is as it came', async (t) => {
  // A document that came loose, as a package.
  await setPolicies({ inbound: 'xdm' });
  await receive(loose);
  const packed = await fetchWhole(await openInbox(t));
  const zip = partOf(packed, 'application/zip');
  const { documents } = await readXdm(zip);
  assert.equal(Buffer.from(documents[0]?.content ?? '').toString(), report);
  assert.equal(await fetchWhole(await openInbox(t)), packed);

  const asPackage = [
    'Content-Type: application/zip; name=rr.zip',
    'Content-Disposition: attachment; filename=rr.zip',
    'Content-Transfer-Encoding: base64',
    '',
    zip.toString('base64'),
  ];
  for (const inbound of ['unpacked', 'xdm', 'as-it-came'] as const) {
    await emptyMailboxes();
    await setPolicies({ inbound });
    const came = await receive(asPackage);
    const shown = await fetchWhole(await openInbox(t));
    assert.match(shown, /^Message-ID: <policy\d+@beta\.example>\r$/im);
    assert.match(shown, /^Content-Type: multipart\/mixed/im);
    assert.match(shown, /Hello/);
    if (inbound === 'as-it-came') assert.equal(shown, came);
    if (inbound === 'xdm') assert.deepEqual(partOf(shown, 'application/zip'), zip);
    if (inbound !== 'unpacked') continue;
    assert.match(shown, /filename="?[^"\r]+\.xml"?\r/);
    assert.doesNotMatch(shown, /application\/zip/);
    assert.equal(partOf(shown, '(?:application|text)/xml').toString(), report);
  }
});

const wantsDispatched = 'Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true';
const answers = (): readonly string[] =>
  world.deliveries.flatMap(({ message }) =>
    [
      ...Buffer.from(message)
        .toString()
        .matchAll(/^Disposition: [^;]*; *([a-z]+)/gim),
    ].map(([, word]) => word ?? ''),
  );

it('dispatched is told when the message is stored, fetched or deleted, by the policy, and once', async (t) => {
  for (const [acknowledgedBy, ...after] of [
    ['stored', 1, 1, 1],
    ['fetched', 0, 1, 1],
    ['deleted', 0, 0, 1],
  ] as const) {
    await emptyMailboxes();
    await forgetAll(world);
    world.deliveries.splice(0);
    await setPolicies({ acknowledgedBy });
    const told = (): number => answers().filter((word) => word === 'dispatched').length;
    await receive(loose, wantsDispatched);
    const counts = [told()];
    assert.equal(await waiting(), 1, 'it stays in the lists of the other ways until it is fetched');
    const imap = await openInbox(t);
    await imap.imap('FETCH 1 BODY[]');
    counts.push(told());
    await imap.imap('STORE 1 +FLAGS (\\Deleted)');
    await imap.imap('EXPUNGE');
    counts.push(told());
    assert.deepEqual([counts, await waiting()], [after, 0], acknowledgedBy);
    assert.equal(answers().filter((word) => word === 'processed').length, 1);
  }
});

it('acknowledged by deletion: a message that was fetched waits on for the REST API until it is expunged', async (t) => {
  await setPolicies({ acknowledgedBy: 'deleted' });
  await receive(loose);
  const imap = await openInbox(t);
  await imap.imap('FETCH 1 BODY[]');
  await imap.imap('STORE 1 +FLAGS (\\Seen \\Deleted)');
  assert.equal(await waiting(), 1);
  await imap.imap('EXPUNGE');
  assert.equal(await waiting(), 0);
});

it('an outcome is told where the message was sent, or else where the account still is', async (t) => {
  const all = ['line', 'submission', 'imap', 'pop3'] as const;
  for (const [sentBy, protocols, noticesInMailbox, ...expected] of [
    ['submission', all, true, 'mailbox'],
    ['submission', all, false, 'line'],
    ['submission', ['submission', 'line'], true, 'line'],
    ['submission', ['submission', 'imap'], false],
    ['line', all, true, 'line'],
    ['line', all, false, 'line'],
    ['line', ['submission', 'imap'], true, 'mailbox'],
  ] as const) {
    await world.edges.accounts.update(alice, { protocols: all });
    await emptyMailboxes();
    await forgetAll(world);
    world.deliveries.splice(0);
    const id = `told${++count}@clinic.example`;
    const message = Buffer.from(`From: ${alice}\r\nTo: ${bob}\r\nMessage-ID: <${id}>\r\n\r\nHi\r\n`);
    await world.submitAs(alice, { from: alice, to: [bob], message }, sentBy);
    const deliveryId = world.deliveries[0]?.deliveryId ?? '';
    await world.report({ deliveryId, outcome: 'failed', reason: 'unreachable' } as never);
    await world.edges.accounts.update(alice, { protocols, policies: { noticesInMailbox } });
    world.clock.advance(11_000);
    const told: string[] = [];
    if (protocols.some((one) => one === 'imap')) {
      const { untagged } = await (await openInbox(t)).imap('UID SEARCH ALL');
      if (untagged.join() !== '* SEARCH') told.push('mailbox');
    }
    if (protocols.some((one) => one === 'line')) {
      const line = endsWith(t, await world.open('line'));
      await line.ask(`AUTH ${alice} ${password}`);
      if ((await line.ask('CHECK'))?.startsWith('STATUS ') === true) told.push('line');
      line.end();
    }
    assert.deepEqual(told, expected, `${sentBy} ${protocols.join(' ')} ${noticesInMailbox}`);
  }
  await world.edges.accounts.update(alice, { protocols: all });
});

it('final delivery is asked for by the account where the message does not say', async () => {
  for (const requestsFinalDelivery of [true, false]) {
    await setPolicies({ requestsFinalDelivery });
    const id = `final-${requestsFinalDelivery}@clinic.example`;
    const message = Buffer.from(`From: ${alice}\r\nTo: ${bob}\r\nMessage-ID: <${id}>\r\n\r\nHi\r\n`);
    await world.submitAs(alice, { from: alice, to: [bob], message });
    const sent = Buffer.from(world.deliveries.at(-1)?.message ?? '').toString();
    assert.equal(/X-DIRECT-FINAL-DESTINATION-DELIVERY/i.test(sent), requestsFinalDelivery);
  }
});

it('what one edge or the REST API took is taken for all', async (t) => {
  const line = endsWith(t, await world.open('line'));
  await line.ask(`AUTH ${alice} ${password}`);
  // By IMAP.
  await receive(loose);
  await fetchWhole(await openInbox(t));
  assert.equal(await line.ask('CHECK'), 'NONE');
  assert.equal(await waiting(), 0);
  // By REST.
  await receive(loose);
  const [listed] = (await world.messaging.listInbox(world.clinic, {})).messages;
  await world.messaging.acknowledge(world.clinic, listed?.messageId ?? '', {});
  assert.equal(await line.ask('CHECK'), 'NONE');
});
