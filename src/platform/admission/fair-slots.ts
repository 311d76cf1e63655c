/** Runs work in a limited number of slots, of which one caller gets a share only. */
export interface FairSlots {
  /** Waits for a slot. Callers take turns; the work of one is done in its order. */
  run<Result>(caller: string, work: () => Promise<Result>): Promise<Result>;
}

export interface FairSlotsLimits {
  readonly total: number;
  readonly perCaller: number;
}

interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

export function createFairSlots({ total, perCaller }: FairSlotsLimits): FairSlots {
  // In the order of service: an owner that got a slot goes to the end.
  const lines = new Map<string, Line>();
  let running = 0;

  function startNext(): void {
    while (running < total) {
      const next = [...lines].find(([, line]) => line.waiting.length > 0 && line.running < perCaller);
      if (next === undefined) return;
      const [caller, line] = next;
      lines.delete(caller);
      lines.set(caller, line);
      line.running++;
      running++;
      line.waiting.shift()?.();
    }
  }

  function end(caller: string, line: Line): void {
    line.running--;
    running--;
    if (line.running === 0 && line.waiting.length === 0) lines.delete(caller);
    startNext();
  }

  return {
    async run(caller, work) {
      const line = lines.get(caller) ?? { running: 0, waiting: [] };
      lines.set(caller, line);
      await new Promise<void>((resolve) => {
        line.waiting.push(resolve);
        startNext();
      });
      try {
        return await work();
      } finally {
        end(caller, line);
      }
    },
  };
}
