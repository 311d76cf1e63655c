/** A profile of the main thread's processor time, by sampling: each sample counts for the innermost frame that has a name here. */
import { Session, type Profiler } from 'node:inspector/promises';
import { writeFileSync } from 'node:fs';

const parts: readonly (readonly [part: string, pattern: RegExp])[] = [
  ['cryptography', /\/lib\/(?:smime|pki|direct|asn1)\/|\/service\/agent\/|node:internal\/crypto\//],
  [
    'storage',
    /\/platform\/(?:storage|vault|content)\/|\/node_modules\/(?:kysely|better-sqlite3|pg|pg-[\w-]+)\//,
  ],
  ['audit', /\/service\/audit\//],
  ['webhooks', /\/service\/webhook\/|\/lib\/fetch\/|\/node_modules\/undici\/|node:internal\/deps\/undici/],
  ['SMTP', /\/lib\/smtp\/|\/app\/smtp\/|\/node_modules\/(?:smtp-server|nodemailer)\//],
  [
    'HTTP',
    /\/app\/http\/|\/service\/oauth\/|\/node_modules\/(?:fastify|@fastify|find-my-way|light-my-request|ajv|avvio)\/|node:_http/,
  ],
  ['MIME and MDN', /\/lib\/(?:mime|mdn|xdm|values)\//],
  ['DNS', /\/lib\/(?:dns|ldap)\//],
  ['messaging', /\/service\/(?:messaging|delivery|trust)\/|\/platform\/work\//],
];

export function createProfiler() {
  const session = new Session();
  session.connect();
  return {
    async start(): Promise<void> {
      await session.post('Profiler.enable');
      await session.post('Profiler.setSamplingInterval', { interval: 200 });
      await session.post('Profiler.start');
    },
    /** Milliseconds per part. */
    async stop(): Promise<Record<string, number>> {
      const { profile } = await session.post('Profiler.stop');
      const file = process.env['BENCH_PROFILE_FILE'];
      if (file !== undefined) writeFileSync(`${file}.${process.pid}.cpuprofile`, JSON.stringify(profile));
      return sumUp(profile);
    },
  };
}

function sumUp(profile: Profiler.Profile): Record<string, number> {
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const parentOf = new Map<number, number>();
  for (const node of profile.nodes) for (const child of node.children ?? []) parentOf.set(child, node.id);
  const sums: Record<string, number> = {};
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const name = partOf(id, byId, parentOf);
    if (name === undefined) continue;
    sums[name] = (sums[name] ?? 0) + (profile.timeDeltas?.[index] ?? 0) / 1000;
  }
  return sums;
}

function partOf(
  leaf: number,
  byId: ReadonlyMap<number, Profiler.ProfileNode>,
  parentOf: ReadonlyMap<number, number>,
): string | undefined {
  const top = byId.get(leaf)?.callFrame.functionName;
  if (top === '(idle)') return undefined;
  if (top === '(garbage collector)') return 'garbage collection';
  for (let id: number | undefined = leaf; id !== undefined; id = parentOf.get(id)) {
    const url = byId.get(id)?.callFrame.url ?? '';
    const found = parts.find(([, pattern]) => pattern.test(url));
    if (found !== undefined) return found[0];
  }
  return top === '(program)' ? 'system calls' : 'rest';
}
