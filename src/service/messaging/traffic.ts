import { readJsonList, type Closable, type Log } from '../../core/index.ts';
import { startRounds, type Storage } from '../../platform/index.ts';

/** The counts of one node in one minute. */
export interface TrafficTables {
  traffic_minute: {
    minute: number;
    node_id: string;
    accepted: number;
    received: number;
    processed: number;
    failed: number;
    /** JSON: how many messages were processed within each of {@link bounds}, and later than all. */
    durations: string;
  };
}

type Counter = 'accepted' | 'received' | 'processed' | 'failed';

/** Counts events per minute, for charts. A crash loses some seconds of counts. */
export interface Traffic extends Closable {
  /** `seconds` from accepted to processed. */
  note(counter: Counter, seconds?: number): void;
}

const minuteMs = 60_000;
const keepMs = 8 * 86_400_000;
const flushMs = 5_000;

/** Upper bounds of the durations in seconds, a third apart. */
const bounds: readonly number[] = Array.from({ length: 40 }, (_, at) => 0.05 * 1.4 ** at);

interface Minute extends Record<Counter, number> {
  readonly durations: number[];
}

export function createTraffic({ storage, log }: { readonly storage: Storage; readonly log: Log }): Traffic {
  let minutes = new Map<number, Minute>();
  let cleanedAt = 0;

  async function flush(): Promise<void> {
    const taken = minutes;
    minutes = new Map();
    for (const [minute, counted] of taken) await add(minute, counted);
    const now = Date.now();
    if (now - cleanedAt < 3_600_000) return;
    cleanedAt = now;
    await storage
      .tables<TrafficTables>()
      .deleteFrom('traffic_minute')
      .where('minute', '<', Math.floor((now - keepMs) / minuteMs))
      .execute();
  }

  /** Only this node writes its rows. */
  async function add(minute: number, { durations, ...counts }: Minute): Promise<void> {
    const key = { minute, node_id: storage.run.nodeId };
    await storage.transaction<TrafficTables, void>(async (tx) => {
      const known = await tx
        .selectFrom('traffic_minute')
        .selectAll()
        .where('minute', '=', minute)
        .where('node_id', '=', key.node_id)
        .executeTakeFirst();
      const before = known === undefined ? [] : readDurations(known.durations);
      const sum = {
        accepted: (known?.accepted ?? 0) + counts.accepted,
        received: (known?.received ?? 0) + counts.received,
        processed: (known?.processed ?? 0) + counts.processed,
        failed: (known?.failed ?? 0) + counts.failed,
        durations: JSON.stringify(addUp(before, durations)),
      };
      await tx
        .insertInto('traffic_minute')
        .values({ ...key, ...sum })
        .onConflict((conflict) => conflict.columns(['minute', 'node_id']).doUpdateSet(sum))
        .execute();
    });
  }

  const rounds = startRounds({
    name: 'traffic',
    everyMs: flushMs,
    log,
    hasLast: true,
    work: () => minutes.size > 0 && flush(),
  });
  return {
    note(counter, seconds) {
      const minute = Math.floor(Date.now() / minuteMs);
      const counted = minutes.get(minute) ?? {
        accepted: 0,
        received: 0,
        processed: 0,
        failed: 0,
        durations: [],
      };
      minutes.set(minute, counted);
      counted[counter]++;
      if (seconds === undefined) return;
      const found = bounds.findIndex((bound) => seconds <= bound);
      const at = found < 0 ? bounds.length : found;
      while (counted.durations.length <= at) counted.durations.push(0);
      counted.durations[at] = (counted.durations[at] ?? 0) + 1;
    },
    close: rounds.close,
  };
}

function addUp(a: readonly number[], b: readonly number[]): number[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, at) => (a[at] ?? 0) + (b[at] ?? 0));
}

/** None for what no node has written: it must not end the chart of all others. */
function readDurations(json: string): readonly number[] {
  const list = readJsonList(json);
  return list.every((one) => typeof one === 'number') ? list : [];
}

/** The traffic of all nodes in one time step. */
export interface TrafficPoint extends Readonly<Record<Counter, number>> {
  readonly at: Date;
  /**
   * From accepted to processed, 99th percentile, at most 40 % too high; undefined if nothing was processed.
   */
  readonly p99Seconds: number | undefined;
}

/** The last hours in steps of whole minutes, the oldest first, the running one last. */
export async function readTraffic(
  storage: Storage,
  now: Date,
  { hours, stepMinutes }: { readonly hours: number; readonly stepMinutes: number },
): Promise<readonly TrafficPoint[]> {
  const last = Math.floor(now.getTime() / minuteMs / stepMinutes);
  const first = last - Math.ceil((hours * 60) / stepMinutes) + 1;
  const rows = await storage
    .tables<TrafficTables>()
    .selectFrom('traffic_minute')
    .selectAll()
    .where('minute', '>=', first * stepMinutes)
    .execute();
  const steps = Map.groupBy(rows, ({ minute }) => Math.floor(Number(minute) / stepMinutes));
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const step = first + index;
    const some = steps.get(step) ?? [];
    const sum = (counter: Counter): number => some.reduce((total, row) => total + row[counter], 0);
    const durations = some.map((row) => readDurations(row.durations)).reduce<number[]>(addUp, []);
    return {
      at: new Date(step * stepMinutes * minuteMs),
      accepted: sum('accepted'),
      received: sum('received'),
      processed: sum('processed'),
      failed: sum('failed'),
      p99Seconds: percentile(durations, 0.99),
    };
  });
}

function percentile(durations: readonly number[], share: number): number | undefined {
  const all = durations.reduce((total, count) => total + count, 0);
  if (all === 0) return undefined;
  let counted = 0;
  for (const [at, count] of durations.entries()) {
    counted += count;
    if (counted >= all * share) return bounds[Math.min(at, bounds.length - 1)];
  }
  return undefined;
}
