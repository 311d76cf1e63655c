/** Cases of the Edge Testing Tool for what an edge receives and for bad commands, by their ids there. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { alice, bob } from '../messaging/start-messaging.ts';
import { forgetAll, startTestEdges, type Dialogue, type TestEdges } from './start-edges.ts';

let world: TestEdges;
let password: string;
before(async () => {
  world = await startTestEdges();
  ({ password } = await world.createAccount());
});
after(() => world.close());
beforeEach(async () => {
  await forgetAll(world);
  await world.storage.tables<{ edge_mail: object }>().deleteFrom('edge_mail').execute();
  world.deliveries.splice(0);
});

const sheet = (name: string): string => `<?xml-stylesheet type="text/xsl" href="${name}"?>`;
const ccda = (before = ''): string =>
  `<?xml version="1.0"?>${before}<ClinicalDocument xmlns="urn:hl7-org:v3"/>`;
const text = 'Content-Type: text/plain\r\n\r\nA note.';
const part = (type: string, name: string, content: string): string =>
  `Content-Type: ${type}\r\nContent-Disposition: attachment; filename="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(content, 'latin1').toString('base64')}`;
const xml = (before = ''): string => part('text/xml', 'ccda.xml', ccda(before));
const pdf = part('application/pdf', 'a.pdf', '%PDF-1.4\n\0\xff');
const xdm = (type = 'application/zip', content = 'IHE_XDM/'): string =>
  part(type, 'xdm.zip', `PK\x03\x04${content}`);

const received: Readonly<Record<string, readonly string[]>> = {
  '91 (25a), text and C-CDA': [text, xml()],
  '92 (25b), PDF and C-CDA': [pdf, xml()],
  '93 (25c), text and XDM': [text, xdm()],
  '94 (25d), C-CDA and text': [xml(), text],
  '95 (25e), C-CDA and PDF': [xml(), pdf],
  '96 (25f), XDM and text': [xdm(), text],
  '97 (26a), a style sheet that is not there': [text, xml(sheet('missing.xsl'))],
  '98 (26b), an invalid style sheet': [text, xml(sheet('<<'))],
  '99 (27), an XDM with bad XHTML': [text, xdm('application/zip', '<html><p>')],
  '100 (28), an XDM as application/octet-stream': [text, xdm('application/octet-stream')],
  '90 (29), an XDM whose metadata say application/xml': [text, xdm('application/xml')],
};

async function openImap(): Promise<Dialogue> {
  const imap = await world.open('imaps');
  await imap.line();
  assert.match((await imap.imap(`LOGIN ${alice} ${password}`)).result, /^OK/);
  assert.match((await imap.imap('SELECT INBOX')).result, /^OK/);
  return imap;
}

/** The octets of the one message by POP3. */
async function readPop3(): Promise<string> {
  const pop3 = await world.open('pop3s');
  await pop3.line();
  await pop3.ask(`USER ${alice}`);
  await pop3.ask(`PASS ${password}`);
  let whole = '';
  pop3.send('RETR 1\r\n');
  assert.match((await pop3.line()) ?? '', /^\+OK/);
  for (let line = await pop3.line(); line !== '.'; line = await pop3.line()) whole += `${line}\r\n`;
  pop3.end();
  return whole;
}

let count = 0;
const send = async (to: string, header: readonly string[], parts: readonly string[]): Promise<string> => {
  const inner = [
    `From: ${bob}`,
    `To: ${to}`,
    `Message-ID: <ett${++count}@beta.example>`,
    ...header,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    ...parts.flatMap((one) => ['--b', one]),
    '--b--',
    '',
  ].join('\r\n');
  await world.receive({ from: bob, to: [to], inner });
  return inner;
};

for (const [name, parts] of Object.entries(received))
  it(`ETT ${name}: all parts in their order and octets, by IMAP (232) and POP3 (332)`, async () => {
    const whole = await send(alice, [], parts);
    const imap = await openImap();
    for (const [index, one] of parts.entries()) {
      const [answer = ''] = (await imap.imap(`FETCH 1 BODY.PEEK[${index + 1}]`)).untagged;
      assert.ok(answer.includes(one.slice(one.indexOf('\r\n\r\n') + 4)), name);
    }
    assert.ok((await imap.imap('FETCH 1 BODY.PEEK[]')).untagged[0]?.includes(whole));
    imap.end();
    assert.equal(await readPop3(), whole);
  });

/** What the sender was told. */
const told = (): readonly string[] =>
  world.deliveries.map(({ message }) => {
    const report = Buffer.from(message).toString('latin1');
    return (
      /^Disposition:.*[;\s](\w+)\s*$/im.exec(report)?.[1] ??
      /^Action:\s*(\w+)/im.exec(report)?.[1] ??
      'neither'
    );
  });

const asking = (value: string): readonly string[] => [
  `Disposition-Notification-To: ${bob}`,
  `Disposition-Notification-Options: ${value}`,
];

for (const [name, header, expected] of [
  [
    '139 (MT39), a good header',
    asking('X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true'),
    ['processed', 'dispatched'],
  ],
  ['140 (MT40), a bad header', asking('X-DIRECT-FINAL-DESTINATION-DELIVRY=optional,true'), ['processed']],
] as const)
  it(`ETT ${name}: ${expected.join(' and ')}, once it was fetched by IMAP`, async () => {
    await send(alice, header, [text]);
    assert.deepEqual(told(), ['processed']);
    const imap = await openImap();
    await imap.imap('FETCH 1 BODY[]');
    imap.end();
    assert.deepEqual(told(), expected);
  });

it('ETT 142 (MT41), to an address that takes nothing: it is told to have failed', async () => {
  await send('gone@direct.alpha.example', asking('X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true'), [
    text,
  ]);
  assert.ok(told().includes('failed'), told().join());
  assert.ok(!told().includes('dispatched'));
});

it('ETT 11: commands out of order, and a DATA with another octet behind it, begin no message', async () => {
  const plain = Buffer.from(`\0${alice}\0${password}`).toString('base64');
  const smtp = await world.open('smtps');
  await smtp.line();
  const code = async (command: string | Uint8Array): Promise<string> => {
    smtp.send(command);
    let line = await smtp.line();
    while (line?.[3] === '-') line = await smtp.line();
    return line?.slice(0, 3) ?? 'ended';
  };
  assert.match(await code('DATA\r\n'), /^5/);
  assert.match(await code('EHLO client.example\r\n'), /^250/);
  assert.match(await code(`AUTH PLAIN ${plain}\r\n`), /^235/);
  assert.match(await code(`RCPT TO:<${bob}>\r\n`), /^5/);
  assert.match(await code('DATA\r\n'), /^5/);
  assert.match(await code(`MAIL FROM:<${alice}>\r\n`), /^250/);
  assert.match(await code(`RCPT TO:<${bob}>\r\n`), /^250/);
  assert.match(await code(Buffer.from('DATA\xff\r\n', 'latin1')), /^(5|ended)/);
  smtp.end();
  assert.equal(world.deliveries.length, 0);
});
