import { Type, type Static } from 'typebox';
import { level, nullable, oneOf, time, named, queryOf } from './common.ts';

/** The console's own paths; `link` is one of them with a query. */
export const tileId = oneOf([
  'queue',
  'failures',
  'inbound',
  'unacknowledged',
  'webhooks',
  'keys',
  'bundles',
  'directory',
]);

export const tile = named('Tile', {
  id: tileId,
  title: Type.String(),
  /** The number to show; null if it cannot be read or does not apply. */
  value: nullable(Type.Number()),
  /** For example `waiting`, `days`, `h`; may be empty. */
  unit: Type.String(),
  level,
  text: Type.String({ description: 'One short sentence.' }),
  link: Type.String({
    description:
      'A path of the console, for example /messages?state=failed; empty if the reader may not open it.',
  }),
});
export type Tile = Static<typeof tile>;

export const attention = named('Attention', {
  id: Type.String(),
  level,
  title: Type.String(),
  text: Type.String({ description: 'What it means and what to do; may be empty.' }),
  since: nullable(time),
  link: Type.String({ description: 'A path of the console; empty if the reader may not open it.' }),
});
export type Attention = Static<typeof attention>;

export const reasonCount = named('ReasonCount', {
  reason: Type.String(),
  count: Type.Integer(),
  text: Type.String(),
  whatToDo: Type.String(),
  link: Type.String(),
});
export type ReasonCount = Static<typeof reasonCount>;

/** Columns of equal length; point `i` covers `stepSeconds` from `times[i]`. All nodes together. */
export const series = named('Series', {
  stepSeconds: Type.Integer(),
  times: Type.Array(time),
  accepted: Type.Array(Type.Integer()),
  processed: Type.Array(Type.Integer()),
  failed: Type.Array(Type.Integer()),
  /** From accepted to processed, 99th percentile; null where nothing was processed. */
  p99Seconds: Type.Array(nullable(Type.Number())),
});
export type Series = Static<typeof series>;

/** `GET /admin/v1/now?hours=` */
export const nowQuery = queryOf({
  hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 24, default: 4 })),
});
export const now = named('Now', {
  at: time,
  attention: Type.Array(attention, {
    description: 'What needs an operator now, the most serious first; what is over is not in it.',
  }),
  tiles: Type.Array(tile),
  /** Failure reasons of the last 24 hours, most frequent first. */
  failures: Type.Array(reasonCount),
  series,
});
export type Now = Static<typeof now>;

/**
 * `GET /admin/v1/live`: server-sent events. `changed` (at most one per second) names the topics whose answers
 * may have changed; `load` reports the progress of a directory load. A beat is sent every 5 seconds. The
 * stream ends within seconds of the session's end, and a new one is refused with 401. At most six connections
 * per operator: 429.
 */
export const topic = oneOf([
  'messages',
  'queue',
  'inbound',
  'webhooks',
  'directory',
  'loads',
  'trust',
  'clients',
  'audit',
]);
export type Topic = Static<typeof topic>;

export const changedEvent = named('ChangedEvent', { topics: Type.Array(topic), at: time });
export type ChangedEvent = Static<typeof changedEvent>;

/** Data of the event `load`. */
export const loadEvent = named('LoadEvent', {
  uploadId: Type.String(),
  phase: oneOf(['waiting', 'reading', 'merging', 'indexing', 'activating', 'done', 'failed']),
  rowsRead: Type.Integer(),
  bytesRead: Type.Integer(),
  totalBytes: nullable(Type.Integer()),
  /** The reason if it failed; otherwise empty. */
  text: Type.String(),
  isLoss: Type.Boolean({
    description:
      'True if it failed only because many rows are refused or many records would go: the same file with acceptLoss is loaded.',
  }),
});
export type LoadEvent = Static<typeof loadEvent>;
