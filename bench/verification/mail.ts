/**
 * Latency of mail while the directory is verified: `node bench/verification/mail.ts [--domains 10000] [--pairs 6] [--seconds 10]
 * [--per-second 20] [--rate 10]`. Two HISPs in separate processes; the sender has a directory and verifies it in every second run. `--rate`
 * is the job's questions per second, the default that of the setting.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { systemClock } from '../../src/core/index.ts';
import { openAuthority } from '../../src/app/dev/index.ts';
import { createStaticZone, type DnsRecord, type DnsZone } from '../../src/lib/dns/index.ts';
import { createKeyPair, issueDirectCertificate, readPrivateKey } from '../../src/lib/pki/index.ts';
import { openStorage } from '../../src/platform/index.ts';
import type { VerificationTables } from '../../src/service/verification/tables.ts';
import { soaOf } from '../../test/support/soa.ts';
import { startProcessWorld } from '../../test/processes/world.ts';
import { runLoad, type LoadResult } from '../messaging/load.ts';

const { values } = parseArgs({
  options: {
    domains: { type: 'string', default: '10000' },
    pairs: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '10' },
    'per-second': { type: 'string', default: '20' },
    rate: { type: 'string', default: '10' },
    'per-domain': { type: 'string', default: '3' },
  },
});
const number = (name: keyof typeof values): number => Number(values[name]);
const nation = 'nation.example';
const dayMs = 86_400_000;

/** A folder on a disk: a temporary one may lie in memory, where a flush costs nothing. */
const folder = await mkdtemp(path.join(process.env['BENCH_DIR'] ?? process.cwd(), '.bench-'));

/** Each domain has one certificate of the authority that the sender trusts. */
async function makeZone(): Promise<DnsZone> {
  const pki = path.join(folder, 'pki');
  const { certificate } = await openAuthority({
    folder: pki,
    name: 'world',
    baseUrl: 'http://127.0.0.1',
    clock: systemClock,
  });
  const issuer = { certificate, privateKey: readPrivateKey(await readFile(path.join(pki, 'world-ca.key'))) };
  const { publicKey } = await createKeyPair();
  const now = Date.now();
  const records: DnsRecord[] = [
    soaOf(nation),
    { name: nation, type: 'NS', ttlSeconds: 60, data: `ns.${nation}` },
  ];
  for (let at = 0; at < number('domains'); at++) {
    const domain = `d${at}.${nation}`;
    const { der } = issueDirectCertificate({
      boundTo: { domain },
      publicKey,
      issuer,
      notBefore: new Date(now - dayMs),
      notAfter: new Date(now + dayMs),
      caIssuerUrls: [],
      crlUrls: [],
    });
    const data = { certificateType: 1, keyTag: 0, algorithm: 0, data: der };
    records.push({ name: domain, type: 'CERT', ttlSeconds: 60, data });
  }
  return createStaticZone(nation, records);
}

async function writeDirectory(): Promise<string> {
  const rows = ['serv_direct_addr'];
  for (let at = 0; at < number('domains'); at++)
    for (let one = 0; one < number('per-domain'); one++) rows.push(`u${one}@d${at}.${nation}`);
  const file = path.join(folder, 'directory.csv');
  await writeFile(file, `${rows.join('\n')}\n`);
  return file;
}

const world = await startProcessWorld({
  folder,
  zones: [await makeZone()],
  settings: (who) =>
    who === 'receiver'
      ? {}
      : {
          'verification.queriesPerSecond': values.rate,
          'verification.queriesPerSecondPerServer': values.rate,
          'verification.queriesPerSecondPerDomain': values.rate,
          // Some are identified while others are judged, as in a directory whose domains are due over a day.
          'verification.spreadHours': '0.5',
        },
});
const storage = await openStorage({ file: path.join(folder, 'sender', 'openhisp.db') });

async function setVerification(what: 'start' | 'pause'): Promise<void> {
  const program = path.resolve(import.meta.dirname, '../../bin/openhisp.js');
  await promisify(execFile)(process.execPath, [program, 'directory', 'verification', what], {
    env: { ...process.env, OPENHISP_DATA_DIR: path.join(folder, 'sender') },
  });
  // The job looks every two seconds.
  await sleep(4000);
}

async function countWork(): Promise<{ addresses: number; questions: number }> {
  const db = storage.tables<VerificationTables>();
  const { addresses } = await db
    .selectFrom('verification_address')
    .select((eb) => eb.fn.countAll<number>().as('addresses'))
    .executeTakeFirstOrThrow();
  const { questions } = await db
    .selectFrom('verification_domain')
    .select((eb) => eb.fn.sum<number | null>('queries').as('questions'))
    .executeTakeFirstOrThrow();
  return { addresses: Number(addresses), questions: Number(questions ?? 0) };
}

interface Run extends LoadResult {
  readonly addressesPerSecond: number;
  readonly questionsPerSecond: number;
  readonly cpuMs: number;
}

async function send(): Promise<Run> {
  const before = await countWork();
  const usage = await world.sender.usage();
  const startMs = performance.now();
  const result = await runLoad(world, {
    sizeBytes: 10_000,
    atOnce: 200,
    perSecond: number('per-second'),
    count: number('per-second') * number('seconds'),
  });
  const seconds = (performance.now() - startMs) / 1000;
  const cpuMs = (await world.sender.usage()).cpuMs - usage.cpuMs;
  const after = await countWork();
  return {
    ...result,
    cpuMs,
    addressesPerSecond: (after.addresses - before.addresses) / seconds,
    questionsPerSecond: (after.questions - before.questions) / seconds,
  };
}

const median = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;

try {
  const problem = await world.sender.load(await writeDirectory());
  if (problem !== '') throw new Error(problem);
  await send();
  const pairs: [Run, Run][] = [];
  for (let pair = 0; pair < number('pairs'); pair++) {
    const without = await send();
    await setVerification('start');
    const with_ = await send();
    await setVerification('pause');
    pairs.push([without, with_]);
    const show = (run: Run): string =>
      `p50 ${run.p50Ms.toFixed(0)} ms, p99 ${run.p99Ms.toFixed(0)} ms, sender ${(run.cpuMs / run.count).toFixed(1)} ms of processor per message, ${run.addressesPerSecond.toFixed(0)} addresses/s, ${run.questionsPerSecond.toFixed(0)} questions/s`;
    console.log(`without: ${show(without)}\nwith:    ${show(with_)}`);
  }
  const row = (name: string, read: (run: Run) => number): string => {
    const ratio = median(pairs.map(([without, with_]) => read(with_) / read(without)));
    return `| ${name} | ${median(pairs.map(([one]) => read(one))).toFixed(1)} | ${median(pairs.map(([, one]) => read(one))).toFixed(1)} | ${ratio.toFixed(2)} |`;
  };
  console.log(
    `\n${values.domains} domains, ${values['per-second']} messages of 10 kB per second for ${values.seconds} s,`,
  );
  console.log(`${values.pairs} alternating pairs, ${values.rate} questions per second at most\n`);
  console.log('| | without | with | median of the ratios |\n|---|---:|---:|---:|');
  console.log(row('p50, ms', (run) => run.p50Ms));
  console.log(row('p99, ms', (run) => run.p99Ms));
  console.log(row('processor time of the sender per message, ms', (run) => run.cpuMs / run.count));
  console.log(row('addresses checked per second', (run) => run.addressesPerSecond));
  console.log(row('questions per second', (run) => run.questionsPerSecond));
} finally {
  await storage.close();
  await world.close();
  await rm(folder, { recursive: true, force: true });
}
