import { retriedText, type FailureReason } from '../../../service/messaging/index.ts';
import type { Tile } from '../contract/index.ts';
import { countOf, spanOf } from './formats.ts';

/** What the sentence on top of the screen Now is made of. */
export interface Situation {
  readonly waiting: number;
  /** Recipients that failed within the last 24 hours. */
  readonly failed: number;
  /** The destination with waiting messages whose attempts fail, the oldest first. */
  readonly stuck:
    | { readonly domain: string; readonly oldestAt: Date; readonly reason?: FailureReason | undefined }
    | undefined;
  readonly tiles: readonly Pick<Tile, 'id' | 'level' | 'text'>[];
  readonly now: Date;
}

/** These have their own clauses. */
const ownClause: ReadonlySet<string> = new Set(['queue', 'failures']);

/** One sentence: what waits and why, what failed, then the text of each tile that needs attention. */
export function summarizeNow({ waiting, failed, stuck, tiles, now }: Situation): string {
  const clauses: string[] = [];
  if (waiting > 0) clauses.push(`${countOf(waiting, 'message')} ${waiting === 1 ? 'is' : 'are'} waiting`);
  if (stuck !== undefined) clauses.push(describeStuck(stuck, now));
  if (failed > 0) clauses.push(`${countOf(failed, 'recipient')} failed within 24 hours`);
  const isNothingElse = clauses.length === (failed > 0 ? 1 : 0);
  for (const { id, level, text } of tiles)
    if ((level === 'failed' || level === 'warning') && !ownClause.has(id)) clauses.push(inner(text));
  if (clauses.length === 0) return 'No problems; nothing is waiting.';
  if (isNothingElse && clauses.length === 1 && failed > 0) return `Nothing is waiting; ${clauses[0]}.`;
  return `${clauses.join('; ').replace(/^./, (first) => first.toUpperCase())}.`;
}

/** A wait that is worth its length: the first attempt of a message may just have failed. */
const longWaitMs = 60_000;

/** Says nothing about other mail to the domain, which may get through. */
function describeStuck({ domain, oldestAt, reason }: NonNullable<Situation['stuck']>, now: Date): string {
  const waitedMs = now.getTime() - oldestAt.getTime();
  const state = waitedMs < longWaitMs ? 'is tried again' : `has waited for ${spanOf(waitedMs)}`;
  const why = reason === undefined ? '' : `: ${inner(retriedText(reason))}`;
  return `mail to ${domain} ${state}${why}`;
}

/** A sentence as a clause of another one. */
function inner(sentence: string): string {
  return sentence.replace(/\.$/, '').replace(/^(The|No) /, (word) => word.toLowerCase());
}
