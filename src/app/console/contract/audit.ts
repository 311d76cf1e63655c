import { Type, type Static } from 'typebox';
import { facts, nullable, oneOf, pageOf, paging, time } from './common.ts';

export const auditEntry = Type.Object(
  {
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
  },
  { title: 'AuditEntry' },
);
export type AuditEntry = Static<typeof auditEntry>;

/**
 * `GET /admin/v1/audit`: newest first; all given filters must match. `GET /admin/v1/audit/export` takes the
 * same filters and answers NDJSON.
 */
export const auditQuery = Type.Object(
  {
    actor: Type.Optional(Type.String({ maxLength: 255 })),
    action: Type.Optional(Type.String({ maxLength: 100 })),
    outcome: Type.Optional(oneOf(['ok', 'refused', 'failed'])),
    message: Type.Optional(
      Type.String({ maxLength: 255, description: 'A message id, or the Message-ID on the wire.' }),
    ),
    address: Type.Optional(Type.String({ maxLength: 255 })),
    requestId: Type.Optional(Type.String({ maxLength: 128 })),
    from: Type.Optional(time),
    to: Type.Optional(time),
    ...paging,
  },
  { additionalProperties: false },
);
export type AuditQuery = Static<typeof auditQuery>;

export const auditPage = pageOf(auditEntry, 'AuditPage');
export type AuditPage = Static<typeof auditPage>;

/** `POST /admin/v1/audit/verify` */
export const auditVerification = Type.Object(
  {
    isIntact: Type.Boolean(),
    sentence: Type.String(),
    events: Type.Integer(),
    firstSequence: nullable(Type.Integer()),
    lastSequence: nullable(Type.Integer()),
    /** The event at which the chain is broken; null if it is intact. */
    brokenAt: nullable(Type.Integer()),
    seconds: Type.Number(),
  },
  { title: 'AuditVerification' },
);
export type AuditVerification = Static<typeof auditVerification>;
