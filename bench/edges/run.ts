/**
 * What a message costs by each edge, compared with the REST API: two HISPs in separate processes, whose processor time is counted there;
 * clients in this one. Sends include sealing and delivery, which are the same for all; fetches begin when everything has arrived.
 *
 * Usage: `npm run bench:edges -- [--messages 300] [--bytes 10000]`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createEdgeClient } from '../../src/app/dev/index.ts';
import { openDialogue, type Dialogue } from '../../test/edges/start-edges.ts';
import { startEdgeWorld, type EdgeWorld } from '../../test/processes/edge-kills.ts';
import { edgePassword, lineAddressOf } from '../../test/processes/hisp-process-edges.ts';
import type { HispProcess } from '../../test/processes/world.ts';

const { values } = parseArgs({
  options: { messages: { type: 'string', default: '300' }, bytes: { type: 'string', default: '10000' } },
});
const messages = Number(values.messages);
const text = 'a line of some length for the text\r\n'.repeat(Math.ceil(Number(values.bytes) / 36));

async function ask(dialogue: Dialogue, line: string, answer: RegExp): Promise<string> {
  dialogue.send(`${line}\n`);
  let said = (await dialogue.line()) ?? 'ended';
  while (/^\d\d\d-/.test(said)) said = (await dialogue.line()) ?? 'ended';
  if (!answer.test(said)) throw new Error(`${line.slice(0, 30)}: ${said}`);
  return said;
}

/** Seconds and processor milliseconds of the HISP for each message. */
async function row(name: string, hisp: HispProcess, work: () => Promise<void>): Promise<void> {
  const before = (await hisp.usage()).cpuMs;
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1000;
  const cpuMs = ((await hisp.usage()).cpuMs - before) / messages;
  console.log(`| ${name} | ${(messages / seconds).toFixed(0)} | ${cpuMs.toFixed(1)} |`);
}

async function drained({ world }: EdgeWorld): Promise<void> {
  for (;;) {
    const [sender, receiver] = [await world.sender.inspect(), await world.receiver.inspect()];
    if ([...Object.values(sender.waiting), ...Object.values(receiver.waiting)].every((count) => count === 0))
      return;
    await sleep(100);
  }
}

const folder = await mkdtemp(path.join(process.env['BENCH_DIR'] ?? process.cwd(), '.bench-'));
const edges = await startEdgeWorld(folder);
try {
  const { world, ca, edgePorts } = edges;
  const { sender, receiver } = world;
  const [from, to] = [sender.party.address, receiver.party.address];
  const [lineFrom, lineTo] = [lineAddressOf(sender.party.domain), lineAddressOf(receiver.party.domain)];
  const clientOf = ({ ready }: HispProcess) => createEdgeClient(ready, 'messaging.api');
  let count = 0;

  const sendByRest = async (): Promise<void> => {
    const client = clientOf(sender);
    for (let done = 0; done < messages; done++)
      await client.post('/messaging/dirmsg/send_ccda', {
        fromDirectAddress: from,
        toDirectAddress: to,
        messageBody: text,
      });
  };
  const sendByMail = async (): Promise<void> => {
    const dialogue = await openDialogue(edgePorts.sender.smtps, ca);
    await dialogue.line();
    await ask(dialogue, 'EHLO bench', /^250/);
    await ask(dialogue, `AUTH PLAIN ${Buffer.from(`\0${from}\0${edgePassword}`).toString('base64')}`, /^235/);
    for (let done = 0; done < messages; done++) {
      for (const line of [`MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, 'DATA'])
        await ask(dialogue, line, /^[23]/);
      const header = `From: ${from}\r\nTo: ${to}\r\nSubject: x\r\nMessage-ID: <${++count}@bench.example>`;
      await ask(dialogue, `${header}\r\n\r\n${text}.\r`, /^250/);
    }
    dialogue.end();
  };
  // A connection for each, as OpenEMR has it.
  const sendByLine = async (): Promise<void> => {
    for (let done = 0; done < messages; done++) {
      const dialogue = await openDialogue(edgePorts.sender.line, ca);
      await ask(dialogue, `AUTH ${lineFrom} ${edgePassword}`, /^OK/);
      await ask(dialogue, `TO ${lineTo}`, /^OK/);
      await dialogue.line();
      await ask(dialogue, `TEXT ${text.length}`, /^BEGIN/);
      dialogue.send(text);
      await dialogue.line();
      await ask(dialogue, 'SEND', /^QUEUED/);
      dialogue.end();
    }
  };
  const takeByRest = async (): Promise<void> => {
    const client = clientOf(receiver);
    for (let left = messages; left > 0;) {
      const body = await client.get(`/messaging/dirmsg/inbox?limit=100&toDirectAddress=${to}`);
      const listed = (body as { result: { messageId: string }[] }).result;
      for (const { messageId } of listed) {
        await client.get(`/messaging/dirmsg/inbox/${messageId}`);
        await client.post(`/messaging/dirmsg/inbox/${messageId}/ack`, {});
        left--;
      }
    }
  };
  const takeByImap = async (): Promise<void> => {
    const dialogue = await openDialogue(edgePorts.receiver.imaps, ca);
    await dialogue.line();
    await dialogue.imap(`LOGIN ${to} "${edgePassword}"`);
    await dialogue.imap('SELECT INBOX');
    const uids =
      (await dialogue.imap('UID SEARCH UNSEEN')).untagged[0]?.split(' ').slice(2, 2 + messages) ?? [];
    for (const uid of uids) {
      const { result } = await dialogue.imap(`UID FETCH ${uid} BODY[]`);
      if (!result.startsWith('OK')) throw new Error(result);
      await dialogue.imap(`UID STORE ${uid} +FLAGS.SILENT (\\Deleted)`);
    }
    await dialogue.imap('EXPUNGE');
    dialogue.end();
  };
  const takeByPop3 = async (): Promise<void> => {
    const dialogue = await openDialogue(edgePorts.receiver.pop3s, ca);
    await dialogue.line();
    await ask(dialogue, `USER ${to}`, /^\+OK/);
    await ask(dialogue, `PASS ${edgePassword}`, /^\+OK/);
    for (let number = 1; number <= messages; number++) {
      await ask(dialogue, `RETR ${number}`, /^\+OK/);
      while ((await dialogue.line()) !== '.');
      await ask(dialogue, `DELE ${number}`, /^\+OK/);
    }
    await ask(dialogue, 'QUIT', /^\+OK/);
  };
  const takeByLine = async (): Promise<void> => {
    const dialogue = await openDialogue(edgePorts.receiver.line, ca);
    await ask(dialogue, `AUTH ${lineTo} ${edgePassword}`, /^OK/);
    for (let done = 0; done < messages; done++) {
      await ask(dialogue, 'CHECK', /^MAIL/);
      await ask(dialogue, 'SHOW 0', /^OK/);
      while ((await dialogue.line()) !== '');
      await dialogue.line();
      await dialogue.octets(Number(await dialogue.line()));
      await dialogue.line();
      await ask(dialogue, 'DONE', /^OK/);
    }
  };
  const clearInbox = async (): Promise<void> => {
    const dialogue = await openDialogue(edgePorts.receiver.imaps, ca);
    await dialogue.line();
    await dialogue.imap(`LOGIN ${to} "${edgePassword}"`);
    await dialogue.imap('SELECT INBOX');
    await dialogue.imap('STORE 1:* +FLAGS.SILENT (\\Deleted)');
    await dialogue.imap('CLOSE');
    dialogue.end();
  };

  console.log('| Edge | messages per second | processor ms per message |\n|---|---|---|');
  for (const [sent, send, taken, take] of [
    ['REST, send', sendByRest, 'REST, fetch and acknowledge', takeByRest],
    ['submission', sendByMail, 'IMAP, fetch and delete', takeByImap],
    [undefined, sendByMail, 'POP3, fetch and delete', takeByPop3],
    ['line, send, a connection each', sendByLine, 'line, fetch and confirm', takeByLine],
  ] as const) {
    const sendAll = async (): Promise<void> => {
      await send();
      await drained(edges);
    };
    if (sent === undefined) await sendAll();
    else await row(sent, sender, sendAll);
    await row(taken, receiver, take);
    await drained(edges);
    await clearInbox();
  }
} finally {
  await edges.world.close();
  await rm(folder, { recursive: true, force: true });
}
