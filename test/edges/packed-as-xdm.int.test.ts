/** What an account sends is packed as XDM where it is set so, and the other HISP opens it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InboundPayload } from '../../src/service/messaging/index.ts';
import { readXdm } from '../../src/lib/xdm/index.ts';
import { alice, anna, bob } from '../messaging/start-messaging.ts';
import { endsWith, startTestEdges } from './start-edges.ts';

const institution = 'Example Clinic^^^^^^^^^1.3.6.1.4.1.21367.200';

test('documents of submission and of the line edge go out as XDM with the author institution; texts and packages as they are', async (t) => {
  const world = await startTestEdges();
  t.after(() => world.close());
  const policies = { outbound: 'xdm', authorInstitution: institution } as const;
  const { password } = await world.createAccount({ policies });
  for (const wrong of ['Clinic', 'Clinic^1.2.3', '^^^^^^^^^1.2.3', 'Clinic^^^^^^^^^x'])
    await assert.rejects(
      world.edges.accounts.update(alice, { policies: { ...policies, authorInstitution: wrong } }),
      ({ problems }: { problems: { field: string }[] }) => problems[0]?.field === 'authorInstitution',
    );
  // As eCRNow sends it: one part, and no text.
  const part = 'Content-Type: application/xml; name=eICR_Report.xml\r\n\r\n<eicr/>';
  const header = `From: ${alice}\r\nTo: ${bob}\r\nSubject: eICR Report\r\nMessage-ID: <correlation-1@smtp.example>\r\nMIME-Version: 1.0\r\n`;
  const mixed = `${header}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${part}\r\n--b--\r\n`;
  await world.submitAs(alice, { from: alice, to: [bob], message: Buffer.from(mixed) });
  const line = endsWith(t, await world.open('line'));
  await line.ask(`AUTH ${alice} ${password}`);
  await line.ask(`TO ${bob}`);
  await line.line();
  assert.equal(await line.ask('ADD CDA 7 eICR_Report.xml'), 'BEGIN');
  line.send('<eicr/>');
  await line.line();
  assert.match((await line.ask('SEND')) ?? '', /^QUEUED/);

  for (const [index, { message }] of world.deliveries.splice(0).entries()) {
    const whole = Buffer.from(message).toString();
    assert.match(whole, /^Subject: (eICR Report )?XDM\/1\.0\/DDM\r$/m);
    if (index === 0) assert.match(whole, /^Message-ID: <correlation-1@smtp\.example>\r$/im);
    await world.receive({
      from: bob,
      to: [anna],
      inner: whole.replaceAll(bob, anna).replaceAll(alice, bob),
    });
  }
  const { messages } = await world.messaging.listInbox(world.clinic, {});
  assert.equal(messages.length, 2);
  for (const { messageId } of messages) {
    const read = async (isXdm: boolean): Promise<InboundPayload> =>
      JSON.parse(
        Buffer.from(await world.messaging.readInbox(world.clinic, messageId, isXdm, {})).toString(),
      ) as InboundPayload;
    const [document] = (await read(false)).emailAttachmentList;
    assert.equal(Buffer.from(document?.attachmentContent ?? '', 'base64').toString(), '<eicr/>');
    const [zip] = (await read(true)).emailAttachmentList;
    const opened = await readXdm(Buffer.from(zip?.attachmentContent ?? '', 'base64'));
    assert.match(JSON.stringify(opened), /Example Clinic\^{9}1\.3\.6\.1\.4\.1\.21367\.200/);
  }

  // Nothing to pack: text, the same in HTML and with images, HTML alone, a report.
  const html = 'Content-Type: text/html\r\n\r\n<p>Hello<img src="cid:logo"></p>\r\n';
  const text = 'Content-Type: text/plain\r\n\r\nHello\r\n';
  const image = 'Content-Type: image/png\r\nContent-ID: <logo>\r\n\r\nPNG\r\n';
  const report = 'Content-Type: message/disposition-notification\r\n\r\nFinal-Recipient: rfc822; x@y\r\n';
  const many = (type: string, ...parts: readonly string[]): string =>
    `Content-Type: multipart/${type}; boundary=${type}\r\n\r\n${parts.map((one) => `--${type}\r\n${one}`).join('')}--${type}--\r\n`;
  const related = many('alternative', text, many('related', html, image));
  let number = 1;
  const submit = async (content: string): Promise<string> => {
    const whole = `${header.replace('correlation-1', `correlation-${++number}`)}${content}`;
    await world.submitAs(alice, { from: alice, to: [bob], message: Buffer.from(whole) });
    return Buffer.from(world.deliveries.at(-1)?.message ?? '').toString();
  };
  for (const content of [
    '\r\nHello\r\n',
    many('alternative', text, html),
    related,
    html,
    many('report', text, report),
  ]) {
    const sent = await submit(content);
    assert.ok(sent.endsWith(content.slice(content.indexOf('\r\n\r\n'))), sent);
    assert.ok(!sent.includes('application/zip'), content);
  }
  // With a document, the text stays with its other form and its images.
  for (const content of [text, html, related]) {
    const sent = await submit(many('mixed', content, `${part}\r\n`));
    assert.ok(sent.includes(content), sent);
    assert.match(sent, /application\/zip/);
    assert.doesNotMatch(sent, /eICR_Report\.xml/);
  }
  // An image next to the document is packed with it.
  const loose = await submit(many('mixed', html, image, `${part}\r\n`));
  assert.match(loose, /application\/zip/);
  assert.doesNotMatch(loose, /image\/png|text\/html/);
});
