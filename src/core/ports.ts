/** The parts of the outside world that a function receives instead of reaching for them. */

/** The current time. Tests pass a clock that they control. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** A clock that only tests advance. */
export interface ManualClock extends Clock {
  /** Moves forward (or back, with a negative number). */
  advance(milliseconds: number): void;
  set(at: Date): void;
}

/** A clock for tests: it shows `start` until a test advances it. */
export function createManualClock(start: Date): ManualClock {
  let nowMs = start.getTime();
  return {
    now: () => new Date(nowMs),
    advance: (milliseconds) => {
      nowMs += milliseconds;
    },
    set: (at) => {
      nowMs = at.getTime();
    },
  };
}

/** Source of cryptographically random bytes. */
export interface RandomSource {
  bytes(length: number): Uint8Array;
}

/** A part that holds sockets, timers, threads or files until it is closed. Closing twice is harmless. */
export interface Closable {
  close(): Promise<void>;
}

/** Log lines for operators. Never patient data, secrets or keys. */
export interface Log {
  debug(fields: Readonly<Record<string, unknown>>, text: string): void;
  info(fields: Readonly<Record<string, unknown>>, text: string): void;
  warn(fields: Readonly<Record<string, unknown>>, text: string): void;
  error(fields: Readonly<Record<string, unknown>>, text: string): void;
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
