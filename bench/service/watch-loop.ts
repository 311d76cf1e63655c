import { Session, type Profiler } from 'node:inspector/promises';

/** A period in which the event loop was blocked, and its cause. */
export interface Hold {
  readonly phase: string;
  readonly lengthMs: number;
  /** Processor time of this thread in it; the rest was spent waiting, for the disk or for a processor. */
  readonly cpuMs: number;
  /** The functions that took it, with their share in milliseconds, longest first. */
  readonly causes: readonly (readonly [name: string, ms: number])[];
}

export interface LoopWatch {
  /** Names what happens from now on. */
  enter(phase: string): void;
  /** Ends the watch: every hold of at least `leastMs`. */
  stop(leastMs: number): Promise<readonly Hold[]>;
}

interface Gap {
  readonly phase: string;
  readonly fromUs: number;
  readonly toUs: number;
  readonly cpuUs: number;
}

/** Notes every time that a timer of one millisecond came late, and profiles so that each can be explained. */
export async function watchLoop(): Promise<LoopWatch> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 500 });
  await session.post('Profiler.start');
  const gaps: Gap[] = [];
  let phase = 'start';
  let lastUs = nowUs();
  let lastCpuUs = cpuUs();
  const timer = setInterval(() => {
    const toUs = nowUs();
    const spentUs = cpuUs() - lastCpuUs;
    lastCpuUs += spentUs;
    if (toUs - lastUs > 3000) gaps.push({ phase, fromUs: lastUs, toUs, cpuUs: spentUs });
    lastUs = toUs;
  }, 1);
  return {
    enter(name) {
      phase = name;
    },
    async stop(leastMs) {
      clearInterval(timer);
      const { profile } = await session.post('Profiler.stop');
      session.disconnect();
      return gaps
        .filter((gap) => gap.toUs - gap.fromUs >= leastMs * 1000)
        .map((gap) => ({
          phase: gap.phase,
          lengthMs: (gap.toUs - gap.fromUs) / 1000,
          cpuMs: gap.cpuUs / 1000,
          causes: explain(profile, gap),
        }));
    },
  };
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/** Adds up the samples of the gap by the innermost function and the innermost one of this repository. */
function explain(profile: Profiler.Profile, { fromUs, toUs }: Gap): Hold['causes'] {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(profile.nodes.flatMap((node) => (node.children ?? []).map((id) => [id, node.id])));
  const nameOf = (id: number): string => {
    const leaf = nodes.get(id)?.callFrame.functionName ?? '';
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = nodes.get(at)?.callFrame;
      const place = /\/(?:src|node_modules)\/(.*)$/.exec(frame?.url ?? '')?.[1];
      if (frame !== undefined && place !== undefined)
        return `${leaf} < ${frame.functionName} ${place}:${frame.lineNumber + 1}`;
    }
    return leaf;
  };
  const causes = new Map<string, number>();
  let atUs = profile.startTime;
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const delta = profile.timeDeltas?.[index] ?? 0;
    atUs += delta;
    if (atUs < fromUs || atUs - delta > toUs) continue;
    causes.set(nameOf(id), (causes.get(nameOf(id)) ?? 0) + delta / 1000);
  }
  return [...causes].toSorted(([, left], [, right]) => right - left).slice(0, 6);
}
