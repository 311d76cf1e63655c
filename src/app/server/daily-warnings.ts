import type { Clock, Log } from '../../core/index.ts';
import type { DegradedComponent } from '../http/index.ts';

/** Examines one thing again and again, for operators. */
export interface Watch {
  /** Sets the gauges, and logs what is due. */
  run(): Promise<void>;
  /** Findings of the last run, for the readiness details. */
  degraded(): readonly DegradedComponent[];
}

/** A finding of a watch that needs an operator. */
export interface Warning extends DegradedComponent {
  /** Tells it apart from others. */
  readonly name: string;
  readonly level: 'warn' | 'error';
  /** Of the line in the log. */
  readonly fields: Readonly<Record<string, unknown>>;
}

interface DailyWatchOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Of the sentence about those that are not listed. */
  readonly part: string;
  /** Level of the line about those that are not listed; by default `warn`. */
  readonly level?: Warning['level'];
  /** Their plural, such as `keys`. */
  readonly what: string;
  /** The command that lists all of them. */
  readonly command?: string;
  find(): Promise<readonly Warning[]>;
}

const dayMs = 86_400_000;
/** Warnings that are listed one by one; a lost CA would otherwise flood the log and the readiness details. */
const maxListed = 20;

/** A watch whose findings are logged once per day each, and stand among the readiness details. */
export function createDailyWatch({
  clock,
  log,
  part,
  level: restLevel = 'warn',
  what,
  command = 'openhisp doctor',
  find,
}: DailyWatchOptions): Watch {
  let warnings: readonly Warning[] = [];
  let loggedAt: ReadonlyMap<string, number> = new Map();

  function logDue(now: number): void {
    const due = warnings.filter(({ name }) => now - (loggedAt.get(name) ?? -Infinity) >= dayMs);
    for (const { level, fields, detail } of due.slice(0, maxListed)) log[level](fields, detail);
    const count = due.length - maxListed;
    if (count > 0) log[restLevel]({ count }, `${count} more ${what} need attention: ${command}`);
    const dueNames = new Set(due.map(({ name }) => name));
    loggedAt = new Map(
      warnings.map(({ name }) => [name, dueNames.has(name) ? now : (loggedAt.get(name) ?? now)]),
    );
  }

  return {
    async run() {
      warnings = await find();
      logDue(clock.now().getTime());
    },
    degraded() {
      const listed = warnings.slice(0, maxListed).map((one) => ({ part: one.part, detail: one.detail }));
      const count = warnings.length - maxListed;
      return count > 0 ? [...listed, { part, detail: `${count} more ${what} need attention.` }] : listed;
    },
  };
}
