/**
 * Ends two HISPs by SIGKILL at random moments (or their PostgreSQL server, restarted at once) while clients send by submission and by lines
 * and take what came by IMAP, POP3 and lines, and then accounts for everything: each message is in the client exactly once, or again, under
 * the same id, only where the client had not got the confirmation that it has it; and of each one that was accepted an outcome was told.
 */
import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServerFiles, openDialogue, type Dialogue } from '../edges/start-edges.ts';
import { edgePassword, lineAddressOf } from './hisp-process-edges.ts';
import { startPostgres } from '../support/postgres.ts';
import { createDatabaseAt } from '../support/storage.ts';
import {
  startProcessWorld,
  type HispProcess,
  type ProcessWorld,
  type ProcessWorldOptions,
  type Who,
} from './world.ts';

export interface EdgeKillOptions {
  readonly folder: string;
  readonly isOnPostgres?: boolean;
  readonly kills: number;
  /** Messages that are accepted and not yet in the client with their outcome told: above it, clients send no more until some are. */
  readonly maxUnfinished?: number;
  readonly maxLifeMs: number;
  readonly random: () => number;
  readonly drainMs: number;
  readonly onKill?: (kill: number, what: string) => void;
}

export interface EdgeKillReport {
  readonly kills: number;
  /** Messages that the client was told are accepted, by the edge that took them. */
  readonly accepted: Readonly<Record<'submission' | 'line', number>>;
  /** Sends that ended without an answer. */
  readonly unanswered: number;
  /** Of the messages, by how often a client was given them: `once`, or `again` before it had confirmed them. */
  readonly received: Readonly<Record<'once' | 'again', number>>;
  /** Messages that were taken and confirmed, by the edge. */
  readonly by: Readonly<Record<string, number>>;
  /** Times that a message or an outcome was given again, all of them before it was confirmed. */
  readonly givenAgain: number;
  readonly told: number;
  readonly lost: readonly string[];
  readonly untold: readonly string[];
  readonly doubled: readonly string[];
  /** Given again under another id. */
  readonly renamed: readonly string[];
  readonly wrong: readonly string[];
}

const ports = ['line', 'smtps', 'imaps', 'pop3s'] as const;
type Ports = Readonly<Record<(typeof ports)[number], number>>;

/** A free port outside the range that connections take theirs from: it is free again after each kill. */
async function stablePort(taken: ReadonlySet<number>): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    if (taken.has(port)) continue;
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** A connection ended before the client had what it asked for. */
class Cut extends Error {}

/** What clients got, and which of it the server knows that they have. */
class Received {
  /** Of each way, what was confirmed. */
  readonly by: Record<string, number> = {};
  readonly #times = new Map<string, number>();
  readonly #confirmed = new Set<string>();
  readonly #ids = new Map<string, string>();
  readonly doubled: string[] = [];
  readonly renamed: string[] = [];

  got(name: string, way: string, id: string): void {
    if (this.#confirmed.has(name)) this.doubled.push(name);
    this.#times.set(name, (this.#times.get(name) ?? 0) + 1);
    const known = this.#ids.get(`${way} ${name}`);
    if (known !== undefined && known !== id) this.renamed.push(`${way} ${name}: ${known}, then ${id}`);
    this.#ids.set(`${way} ${name}`, id);
  }

  confirm(names: readonly string[], way: string): void {
    for (const name of names) this.#confirmed.add(name);
    this.by[way] = (this.by[way] ?? 0) + names.length;
  }

  has(name: string): boolean {
    return this.#times.has(name);
  }

  get size(): number {
    return this.#times.size;
  }

  get once(): number {
    return [...this.#times.values()].filter((times) => times === 1).length;
  }

  get again(): number {
    return [...this.#times.values()].reduce((sum, times) => sum + times - 1, 0);
  }
}

async function must(dialogue: Dialogue, line: string, answer: RegExp): Promise<string> {
  const said = (await dialogue.ask(line)) ?? '';
  if (!answer.test(said)) throw new Cut(`${line.slice(0, 20)}: ${said}`);
  return said;
}

async function mustImap(dialogue: Dialogue, command: string): Promise<readonly string[]> {
  const { untagged, result } = await dialogue.imap(command);
  if (!result.startsWith('OK')) throw new Cut(`${command.slice(0, 20)}: ${result}`);
  return untagged;
}

/** Undefined where the connection was cut. */
async function within<T>(
  port: number,
  ca: string,
  work: (dialogue: Dialogue) => Promise<T>,
): Promise<T | undefined> {
  let dialogue: Dialogue | undefined;
  try {
    dialogue = await openDialogue(port, ca);
    return await work(dialogue);
  } catch {
    await sleep(50);
    return undefined;
  } finally {
    dialogue?.end();
  }
}

export interface Side {
  readonly ports: Ports;
  readonly address: string;
  readonly ca: string;
}

export async function submit(side: Side, to: string, name: string): Promise<boolean> {
  const done = await within(side.ports.smtps, side.ca, async (dialogue) => {
    const plain = Buffer.from(`\0${side.address}\0${edgePassword}`).toString('base64');
    await dialogue.line();
    const commands = [
      'EHLO client',
      `AUTH PLAIN ${plain}`,
      `MAIL FROM:<${side.address}>`,
      `RCPT TO:<${to}>`,
      'DATA',
    ];
    for (const command of commands) {
      let line = await must(dialogue, command, /^[23]/);
      while (line[3] === '-') line = (await dialogue.line()) ?? '';
    }
    const header = `From: ${side.address}\r\nTo: ${to}\r\nSubject: ${name}\r\nMessage-ID: <${name}@client.example>`;
    const date = 'Date: Fri, 27 Nov 2026 05:00:00 +0000';
    await must(dialogue, `${header}\r\n${date}\r\n\r\nHello\r\n.\r`, /^250/);
    return true;
  });
  return done === true;
}

/** The id that the client keeps. */
function sendByLine(side: Side, to: string, name: string): Promise<string | undefined> {
  return within(side.ports.line, side.ca, async (dialogue) => {
    await must(dialogue, `AUTH ${side.address} ${edgePassword}`, /^OK/);
    await must(dialogue, `TO ${to}`, /^OK/);
    await dialogue.line();
    await must(dialogue, `TEXT ${name.length}`, /^BEGIN/);
    dialogue.send(name);
    if ((await dialogue.line()) !== 'OK') throw new Cut('TEXT');
    return (await must(dialogue, 'SEND', /^QUEUED/)).split(' ')[2] ?? '';
  });
}

/** Takes everything by IMAP and deletes it; `nameOf` names a message by its octets. */
async function takeByImap(side: Side, received: Received, nameOf: (text: string) => string): Promise<void> {
  await within(side.ports.imaps, side.ca, async (dialogue) => {
    await dialogue.line();
    await mustImap(dialogue, `LOGIN ${side.address} "${edgePassword}"`);
    await mustImap(dialogue, 'SELECT INBOX');
    const names: string[] = [];
    const found = (await mustImap(dialogue, 'UID SEARCH ALL'))[0]?.split(' ').slice(2) ?? [];
    for (const uid of found.slice(0, 50)) {
      const [answer] = await mustImap(dialogue, `UID FETCH ${uid} BODY.PEEK[]`);
      if (answer === undefined) continue;
      const name = nameOf(answer);
      received.got(name, 'imap', uid);
      names.push(name);
      await mustImap(dialogue, `UID STORE ${uid} +FLAGS.SILENT (\\Deleted)`);
    }
    await mustImap(dialogue, 'EXPUNGE');
    received.confirm(names, 'imap');
  });
}

async function takeByPop3(side: Side, received: Received, nameOf: (text: string) => string): Promise<void> {
  await within(side.ports.pop3s, side.ca, async (dialogue) => {
    await dialogue.line();
    await must(dialogue, `USER ${side.address}`, /^\+OK/);
    await must(dialogue, `PASS ${edgePassword}`, /^\+OK/);
    const count = Number((await must(dialogue, 'STAT', /^\+OK/)).split(' ')[1]);
    const names: string[] = [];
    for (let number = 1; number <= Math.min(count, 50); number++) {
      const id = (await must(dialogue, `UIDL ${number}`, /^\+OK/)).split(' ')[2] ?? '';
      dialogue.send(`RETR ${number}\r\n`);
      // It may be gone since, by the hand of nobody but retention.
      if (!((await dialogue.line()) ?? '').startsWith('+OK')) continue;
      let text = '';
      for (let line = await dialogue.line(); line !== '.'; line = await dialogue.line()) {
        if (line === undefined) throw new Cut('RETR');
        text += `${line}\n`;
      }
      received.got(nameOf(text), 'pop3', id);
      names.push(nameOf(text));
      await must(dialogue, `DELE ${number}`, /^\+OK/);
    }
    await must(dialogue, 'QUIT', /^\+OK/);
    received.confirm(names, 'pop3');
  });
}

/** Takes what waits by lines: messages by the name in their text, outcomes by their id and code. */
async function takeByLine(side: Side, mails: Received, outcomes: Received): Promise<void> {
  await within(side.ports.line, side.ca, async (dialogue) => {
    await must(dialogue, `AUTH ${side.address} ${edgePassword}`, /^OK/);
    for (;;) {
      const given = await must(dialogue, 'CHECK', /^(NONE|STATUS|MAIL)/);
      if (given === 'NONE') return;
      if (given.startsWith('STATUS')) {
        const name = given.split(' ').slice(1, 3).join(' ');
        outcomes.got(name, 'line', name);
        await must(dialogue, 'OK', /^OK/);
        outcomes.confirm([name], 'line');
        continue;
      }
      await must(dialogue, 'SHOW 0', /^OK/);
      const header: string[] = [];
      for (let line = await dialogue.line(); line !== ''; line = await dialogue.line()) {
        if (line === undefined) throw new Cut('SHOW');
        header.push(line);
      }
      await dialogue.line();
      const text = (await dialogue.octets(Number(await dialogue.line()))).toString();
      const attachments = await dialogue.line();
      if (attachments === undefined) throw new Cut('SHOW');
      const name = nameIn(`${header.join('\n')}\n\n${text}`);
      mails.got(name, 'line', given.split(' ')[4] ?? '');
      await must(dialogue, 'DONE', /^OK/);
      mails.confirm([name], 'line');
    }
  });
}

const nameIn = (text: string): string =>
  /\b(?:mail|line)-\d+-x/.exec(text)?.[0] ?? `unknown: ${text.slice(0, 200)}`;

/** The message that an MDN or DSN is about, and what it says. */
function outcomeIn(text: string): string {
  const name = nameIn(
    /^(?:Original-Message-ID|In-Reply-To|X-Original-Message-ID|References):.*$/im.exec(text)?.[0] ?? text,
  );
  return `${name} ${/\bfailed\b/i.test(text) ? 'failed' : 'dispatched'}`;
}

export interface EdgeWorld {
  readonly world: ProcessWorld;
  /** Of its PostgreSQL server. */
  readonly restartDatabase?: () => Promise<void>;
  close(): Promise<void>;
  readonly ca: string;
  readonly edgePorts: Readonly<Record<Who, Ports>>;
}

/** Two HISPs in processes of their own that serve edges at ports which stay, with the accounts of each. */
export async function startEdgeWorld(
  folder: string,
  {
    isOnPostgres = false,
    ...options
  }: Pick<ProcessWorldOptions, 'env' | 'settings'> & Pick<EdgeKillOptions, 'isOnPostgres'> = {},
): Promise<EdgeWorld> {
  const { ca, key, cert } = await createServerFiles();
  const [tlsKeyFile, tlsCertificateFile] = [path.join(folder, 'edge.key'), path.join(folder, 'edge.pem')];
  await writeFile(tlsKeyFile, key);
  await writeFile(tlsCertificateFile, cert);
  const portsOf = async (): Promise<Ports> => {
    const found: Partial<Record<(typeof ports)[number], number>> = {};
    for (const name of ports) found[name] = await stablePort(new Set(Object.values(found)));
    return found as Ports;
  };
  const edgePorts: Readonly<Record<Who, Ports>> = { sender: await portsOf(), receiver: await portsOf() };
  const postgres = isOnPostgres ? await startPostgres() : undefined;
  const urls = postgres && {
    sender: await createDatabaseAt(postgres, 'sender'),
    receiver: await createDatabaseAt(postgres, 'receiver'),
  };
  const world = await startProcessWorld({
    ...options,
    folder,
    settings: (who) => ({
      ...(urls && {
        'storage.url': urls[who],
        'vault.masterKeyFile': path.join(folder, `${who}.key`),
      }),
      'delivery.retryMinutes': '0.01,0.02,0.05',
      'delivery.leaseSeconds': '3',
      'delivery.probeSeconds': '1',
      'edge.isServing': 'true',
      'edge.protocols': ports.join(','),
      'edge.tlsKeyFile': tlsKeyFile,
      'edge.tlsCertificateFile': tlsCertificateFile,
      ...Object.fromEntries(ports.map((name) => [`edge.${name}Port`, String(edgePorts[who][name])])),
      ...options.settings?.(who),
    }),
  });
  return {
    world,
    ca,
    edgePorts,
    ...(postgres && { restartDatabase: () => postgres.restart('immediate') }),
    async close() {
      await world.close();
      await postgres?.stop();
    },
  };
}

export async function runEdgeKills(options: EdgeKillOptions): Promise<EdgeKillReport> {
  const edges = await startEdgeWorld(options.folder, { isOnPostgres: options.isOnPostgres ?? false });
  try {
    return await account(edges, options);
  } finally {
    await edges.close();
  }
}

async function account(
  { world, ca, edgePorts, restartDatabase }: EdgeWorld,
  options: EdgeKillOptions,
): Promise<EdgeKillReport> {
  const { random, maxUnfinished = 40 } = options;
  const { sender, receiver } = world;
  const mailSide = { ports: edgePorts.sender, address: sender.party.address, ca };
  const lineSide = { ...mailSide, address: lineAddressOf(sender.party.domain) };
  const farSide = { ports: edgePorts.receiver, address: receiver.party.address, ca };
  const farLineSide = { ...farSide, address: lineAddressOf(receiver.party.domain) };
  const [mails, mailOutcomes, lineOutcomes, nothing] = [
    new Received(),
    new Received(),
    new Received(),
    new Received(),
  ];
  const submitted: string[] = [];
  const lines = new Map<string, string>();
  let unanswered = 0;
  let isSending = true;
  let isOn = true;
  const names = () => [...submitted, ...lines.values()];
  const lost = () => names().filter((name) => !mails.has(name));
  const untold = () => [
    ...submitted.filter((name) => !mailOutcomes.has(`${name} dispatched`)),
    ...[...lines].filter(([id]) => !lineOutcomes.has(`${id} dispatched`)).map(([, name]) => name),
  ];
  const room = async () => {
    while (isSending && new Set([...lost(), ...untold()]).size >= maxUnfinished) await sleep(50);
  };
  async function keepSubmitting(): Promise<void> {
    for (let number = 1; isSending; number++) {
      await room();
      const name = `mail-${number}-x`;
      // A mail program sends it again until it is accepted, under the same Message-ID.
      while (!(await submit(mailSide, farSide.address, name))) unanswered++;
      submitted.push(name);
    }
  }
  async function keepSendingLines(): Promise<void> {
    for (let number = 1; isSending; number++) {
      await room();
      const name = `line-${number}-x`;
      const id = await sendByLine(lineSide, farLineSide.address, name);
      if (id === undefined) unanswered++;
      else lines.set(id, name);
    }
  }
  const someOf = (...ways: readonly (() => Promise<void>)[]) => ways[Math.floor(random() * ways.length)]?.();
  async function keepTaking(): Promise<void> {
    while (isOn) {
      await someOf(
        () => takeByImap(farSide, mails, nameIn),
        () => takeByPop3(farSide, mails, nameIn),
      );
      await takeByLine(farLineSide, mails, nothing);
      await sleep(20);
    }
  }
  async function keepAsking(): Promise<void> {
    while (isOn) {
      await someOf(
        () => takeByImap(mailSide, mailOutcomes, outcomeIn),
        () => takeByPop3(mailSide, mailOutcomes, outcomeIn),
      );
      await takeByLine(lineSide, nothing, lineOutcomes);
      await sleep(50);
    }
  }
  const sending = [keepSubmitting(), keepSendingLines()];
  const taking = [keepTaking(), keepAsking()];
  const ofHisp = (hisp: HispProcess): Victim => ({
    name: hisp.party.domain,
    async endAndStart() {
      await hisp.kill();
      await hisp.start();
    },
  });
  const hisps = [ofHisp(sender), ofHisp(receiver)];
  const database = restartDatabase && { name: 'the database', endAndStart: restartDatabase };
  await killSome(database ? [...hisps, ...hisps, database] : hisps, options);
  const until = performance.now() + options.drainMs;
  // On a slow machine the lives of a few kills are too short for each way to take something.
  const hasUsedAll = () =>
    submitted.length > 0 &&
    lines.size > 0 &&
    ['imap', 'pop3', 'line'].every((way) => (mails.by[way] ?? 0) > 0);
  while (!hasUsedAll() && performance.now() < until) await sleep(100);
  isSending = false;
  await Promise.all(sending);

  while (lost().length + untold().length > 0 && performance.now() < until) await sleep(200);
  isOn = false;
  await Promise.all(taking);
  const wrong = [
    ...submitted.filter((name) => mailOutcomes.has(`${name} failed`)),
    ...[...lines].filter(([id]) => lineOutcomes.has(`${id} failed`)).map(([, name]) => name),
  ];
  return {
    kills: options.kills,
    accepted: { submission: submitted.length, line: lines.size },
    unanswered,
    received: { once: mails.once, again: mails.size - mails.once },
    by: mails.by,
    givenAgain: mails.again + mailOutcomes.again + lineOutcomes.again,
    told: mailOutcomes.size + lineOutcomes.size,
    lost: lost(),
    untold: untold(),
    doubled: [...mails.doubled, ...mailOutcomes.doubled, ...lineOutcomes.doubled],
    renamed: [...mails.renamed, ...mailOutcomes.renamed, ...lineOutcomes.renamed],
    wrong,
  };
}

interface Victim {
  readonly name: string;
  endAndStart(): Promise<void>;
}

async function killSome(
  victims: readonly Victim[],
  { kills, maxLifeMs, random, onKill }: EdgeKillOptions,
): Promise<void> {
  for (let kill = 1; kill <= kills; kill++) {
    await sleep(maxLifeMs * random());
    const victim = victims[Math.floor(random() * victims.length)];
    await victim?.endAndStart();
    onKill?.(kill, victim?.name ?? '');
  }
}
