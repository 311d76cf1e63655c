import { Type, type Static } from 'typebox';
import { level, oneOf, time, bodyOf, named } from './common.ts';
import { certificatePath } from './trust-paths.ts';

/**
 * `POST /admin/v1/address-checks` answers NDJSON (`application/x-ndjson`): one event per line, the decision
 * last.
 */
export const addressCheckRequest = bodyOf('AddressCheckRequest', {
  address: Type.String({ minLength: 3, maxLength: 255 }),
  /** The hosted domain whose anchors apply; the first one if absent. */
  fromDomain: Type.Optional(Type.String({ maxLength: 255 })),
});
export type AddressCheckRequest = Static<typeof addressCheckRequest>;

export const checkStarted = named('CheckStarted', {
  type: Type.Literal('started'),
  address: Type.String(),
  fromDomain: Type.String(),
  at: time,
  /** The places that are queried in this order until one has a certificate. */
  places: Type.Array(
    Type.Object({
      source: oneOf(['dns-address', 'dns-domain', 'ldap-address', 'ldap-domain']),
      title: Type.String(),
    }),
  ),
});

export const checkStep = named('CheckStep', {
  type: Type.Literal('step'),
  source: oneOf(['dns-address', 'dns-domain', 'ldap-address', 'ldap-domain']),
  title: Type.String(),
  /** The query, for example `bob.direct.example.org CERT`. */
  query: Type.String(),
  outcome: oneOf(['found', 'absent', 'unavailable']),
  level,
  text: Type.String(),
  /** `udp`, `tcp`, or `host:port` of the LDAP server; may be empty. */
  via: Type.String(),
  certificateCount: Type.Integer(),
  unreadableCount: Type.Integer(),
  ttlSeconds: Type.Integer(),
  detail: Type.String(),
  elapsedMs: Type.Number(),
});

export const checkCertificate = named('CheckCertificate', {
  type: Type.Literal('certificate'),
  path: certificatePath,
});

export const checkDecision = named('CheckDecision', {
  type: Type.Literal('decision'),
  canSend: Type.Boolean(),
  level,
  sentence: Type.String(),
  whatToDo: Type.String(),
  reason: Type.String(),
  code: Type.String(),
  statusCode: Type.String(),
  isTransient: Type.Boolean(),
  /** Text for the operator of the other HISP; empty if there is nothing for them to do. */
  letter: Type.String(),
  elapsedMs: Type.Number(),
});

export const checkFailed = named('CheckFailed', { type: Type.Literal('failed'), text: Type.String() });

export const addressCheckEvent = Type.Union([
  checkStarted,
  checkStep,
  checkCertificate,
  checkDecision,
  checkFailed,
]);
export type AddressCheckEvent = Static<typeof addressCheckEvent>;
