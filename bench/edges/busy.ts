/**
 * Whether busy edges delay mail and searches: messages by REST to a HISP and searches of its directory, while its edges are idle and busy in
 * turn. Busy are eight IMAP clients, each of which signs in, selects, fetches a page and one message, and searches through contents, at most
 * four times a second.
 *
 * Usage: `npm run bench:edges-busy -- [--pairs 3] [--seconds 15]`.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createEdgeClient } from '../../src/app/dev/index.ts';
import { openDialogue } from '../../test/edges/start-edges.ts';
import { startEdgeWorld } from '../../test/processes/edge-kills.ts';
import { edgePassword } from '../../test/processes/hisp-process-edges.ts';
import { medianOf as median } from '../directory/median.ts';

const { values } = parseArgs({
  options: { pairs: { type: 'string', default: '3' }, seconds: { type: 'string', default: '15' } },
});
const periodMs = 1000 * Number(values.seconds);
const clients = 8;
const betweenMs = 250;

interface Run {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly rounds: number;
}

const folder = await mkdtemp(path.join(process.env['BENCH_DIR'] ?? process.cwd(), '.bench-'));
const edges = await startEdgeWorld(folder);
try {
  const { world, ca, edgePorts } = edges;
  const { sender, receiver } = world;
  const [from, to] = [sender.party.address, receiver.party.address];
  const file = path.join(folder, 'directory.csv');
  const rows = Array.from({ length: 20_000 }, (_, at) => `u${at}@d${at % 500}.example`);
  await writeFile(file, `serv_direct_addr\n${rows.join('\n')}\n`);
  const problem = await receiver.load(file);
  if (problem !== '') throw new Error(problem);
  const [sending, searching] = [createEdgeClient(sender.ready), createEdgeClient(receiver.ready)];
  let sent = 0;
  const send = async (): Promise<void> => {
    const text = 'a line of some length for the text\r\n'.repeat(100);
    await sending.post('/messaging/dirmsg/send_ccda', {
      fromDirectAddress: from,
      toDirectAddress: to,
      messageBody: text,
    });
    sent++;
  };
  const drained = async (): Promise<void> => {
    for (;;) {
      const states = [await sender.inspect(), await receiver.inspect()];
      if (states.every(({ waiting }) => Object.values(waiting).every((count) => count === 0))) return;
      await sleep(50);
    }
  };

  async function lookOnce(): Promise<void> {
    const dialogue = await openDialogue(edgePorts.receiver.imaps, ca);
    await dialogue.line();
    for (const command of [
      `LOGIN ${to} "${edgePassword}"`,
      'SELECT INBOX',
      'FETCH 1:20 (UID FLAGS RFC822.SIZE ENVELOPE)',
      'FETCH 1 BODY.PEEK[]',
      'SEARCH 1:20 BODY nowhere',
      'LOGOUT',
    ]) {
      const { result } = await dialogue.imap(command);
      if (!result.startsWith('OK')) throw new Error(`${command.slice(0, 20)}: ${result}`);
    }
    dialogue.end();
  }

  async function run(isBusy: boolean): Promise<Run> {
    let isOn = true;
    let rounds = 0;
    const looking = Array.from({ length: isBusy ? clients : 0 }, async () => {
      for (; isOn; rounds++) await Promise.all([lookOnce(), sleep(betweenMs)]);
    });
    const tookMs: number[] = [];
    const asking = (async () => {
      for (let at = 0; isOn; at++) {
        const began = performance.now();
        await searching.get(
          `/provider-directory/v2/providers?serv_direct_addr=u${at % 20_000}@d${at % 500}.example&limit=25`,
        );
        tookMs.push(performance.now() - began);
        await sleep(25);
      }
    })();
    const [before, began] = [sent, performance.now()];
    while (performance.now() - began < periodMs) await send();
    await drained();
    const seconds = (performance.now() - began) / 1000;
    isOn = false;
    await Promise.all([...looking, asking]);
    const sorted = tookMs.toSorted((left, right) => left - right);
    const at = (share: number): number => sorted[Math.floor(share * sorted.length)] ?? 0;
    return {
      perSecond: (sent - before) / seconds,
      p50Ms: at(0.5),
      p95Ms: at(0.95),
      rounds: rounds / seconds,
    };
  }

  for (let at = 0; at < 25; at++) await send();
  await drained();
  await run(true);
  const pairs: (readonly [Run, Run])[] = [];
  for (let pair = 0; pair < Number(values.pairs); pair++) pairs.push([await run(false), await run(true)]);
  console.log('| | idle edges | busy edges | median of the ratios |\n|---|---:|---:|---:|');
  const row = (name: string, read: (one: Run) => number): void => {
    const [idle, busy] = [0, 1].map((index) => median(pairs.map((pair) => read(pair[index] as Run))));
    const ratio = median(pairs.map((pair) => read(pair[1]) / read(pair[0])));
    console.log(`| ${name} | ${idle?.toFixed(1)} | ${busy?.toFixed(1)} | ${ratio.toFixed(2)} |`);
  };
  row('messages per second, arrived', (one) => one.perSecond);
  row('search, p50 in ms', (one) => one.p50Ms);
  row('search, p95 in ms', (one) => one.p95Ms);
  console.log(`busy: ${median(pairs.map((pair) => pair[1].rounds)).toFixed(1)} rounds of IMAP per second`);
} finally {
  await edges.close();
  await rm(folder, { recursive: true, force: true });
}
