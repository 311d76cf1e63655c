import { Type, type Static } from 'typebox';
import { facts, nullable, oneOf, pageOf, paging, time, named, queryOf } from './common.ts';

/** Of `service/audit`; the contract imports no services. */
const auditGroups = oneOf(['changes', 'access', 'delivery']);

export const auditEntry = named('AuditEntry', {
  sequence: Type.Integer(),
  at: time,
  /** `area.verb`, for example `message.show`. */
  action: Type.String(),
  /** A client id, `system`, or `operator:NAME`; empty if the caller was not identified. */
  actor: Type.String(),
  outcome: oneOf(['ok', 'refused', 'failed']),
  /** Identifiers, reasons and counts. */
  objects: facts,
  requestId: Type.String(),
  remoteAddress: Type.String(),
  /** What happened, in plain words; `action` is its code. */
  text: Type.String(),
  group: auditGroups,
  channel: oneOf(['console', 'command', 'api', 'edge', 'service']),
  /** The login of the system that ran the command; else empty. */
  login: Type.String(),
  isClaimed: Type.Boolean({
    description: 'True if the name of the operator is only what a command was told (--as).',
  }),
  /** Id of the session of the console; else empty. */
  session: Type.String(),
});
export type AuditEntry = Static<typeof auditEntry>;

/**
 * `GET /admin/v1/audit`: newest first; all given filters must match. `GET /admin/v1/audit/export` takes the
 * same filters and answers NDJSON.
 */
export const auditQuery = queryOf({
  actor: Type.Optional(Type.String({ maxLength: 255 })),
  action: Type.Optional(Type.String({ maxLength: 100 })),
  outcome: Type.Optional(oneOf(['ok', 'refused', 'failed'])),
  group: Type.Optional(auditGroups),
  message: Type.Optional(
    Type.String({ maxLength: 255, description: 'A message id, or the Message-ID on the wire.' }),
  ),
  address: Type.Optional(Type.String({ maxLength: 255 })),
  requestId: Type.Optional(Type.String({ maxLength: 128 })),
  from: Type.Optional(time),
  to: Type.Optional(time),
  ...paging,
});
export type AuditQuery = Static<typeof auditQuery>;

/** `GET /admin/v1/audit/export`: the same filters; NDJSON, or CSV for a spreadsheet. */
export const auditExportQuery = queryOf({
  ...auditQuery.properties,
  format: Type.Optional(oneOf(['ndjson', 'csv'])),
});

export const auditPage = pageOf(auditEntry, 'AuditPage');
export type AuditPage = Static<typeof auditPage>;

/** `POST /admin/v1/audit/verify` */
export const auditVerification = named('AuditVerification', {
  isIntact: Type.Boolean(),
  sentence: Type.String(),
  events: Type.Integer(),
  firstSequence: nullable(Type.Integer()),
  lastSequence: nullable(Type.Integer()),
  /** The event at which the chain is broken; null if it is intact. */
  brokenAt: nullable(Type.Integer()),
  seconds: Type.Number(),
});
export type AuditVerification = Static<typeof auditVerification>;
