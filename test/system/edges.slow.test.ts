/** A message by a mail program to another HISP and its answer, through everything that is real. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { openDialogue } from '../edges/start-edges.ts';
import { waitUntil } from '../messaging/start-messaging.ts';
import { openTestSandbox } from './sandbox-fixture.ts';

test('what is sent by SMTP is answered into the mailbox, and its outcome told there', async (t) => {
  const { sandbox, folder, close } = await openTestSandbox();
  t.after(close);
  const { edge } = JSON.parse(await readFile(path.join(folder, 'credentials.json'), 'utf8')) as {
    edge: Record<'address' | 'username' | 'password' | 'caFile' | 'smtps' | 'imaps', string>;
  };
  assert.deepEqual(edge, sandbox.edge);
  const ca = await readFile(edge.caFile, 'utf8');
  const portOf = (place: string): number => Number(place.split(':')[1]);

  const smtp = await openDialogue(portOf(edge.smtps), ca);
  t.after(() => smtp.end());
  const plain = Buffer.from(`\0${edge.username}\0${edge.password}`).toString('base64');
  // The header is as small as mail programs make it: no Date, no Message-ID, no MIME-Version.
  const message = `From: ${edge.address}\r\nTo: echo@direct.lakeside.example\r\nSubject: x\r\n\r\nHello\r\n.`;
  const said = [
    'EHLO client.example',
    `AUTH PLAIN ${plain}`,
    `MAIL FROM:<${edge.address}>`,
    'RCPT TO:<echo@direct.lakeside.example>',
    'DATA',
    message,
    'QUIT',
  ];
  const replies: string[] = [];
  for (const words of ['', ...said]) {
    if (words !== '') smtp.send(`${words}\r\n`);
    let line = await smtp.line();
    while (line?.[3] === '-') line = await smtp.line();
    replies.push(line?.slice(0, 3) ?? 'ended');
  }
  assert.deepEqual(replies, ['220', '250', '235', '250', '250', '354', '250', '221']);

  const imap = await openDialogue(portOf(edge.imaps), ca);
  t.after(() => imap.end());
  await imap.line();
  assert.match((await imap.imap(`LOGIN ${edge.username} ${edge.password}`)).result, /^OK/);
  let subjects = '';
  await waitUntil(async () => {
    await imap.imap('SELECT INBOX');
    subjects = (await imap.imap('FETCH 1:* ENVELOPE')).untagged.join('\n');
    return subjects.includes('"Your message has arrived"') && subjects.includes('"Dispatched');
  }, 'the answer and the notice');
});
