import { Type, type Static } from 'typebox';
import { level, nullable, oneOf, time, named, bodyOf, queryOf } from './common.ts';

export const scope = oneOf(['provider-directory', 'messaging.api', 'provisioning', 'forwarding']);

export const clientLimits = Type.Object({
  directoryRequestsPerSecond: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  directoryRequestsBurst: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  directoryRecordsPerDay: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  sendsPerSecond: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  sendsBurst: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
});
export type ClientLimits = Static<typeof clientLimits>;

export const client = named('Client', {
  clientId: Type.String(),
  name: Type.String(),
  isEnabled: Type.Boolean(),
  level,
  text: Type.String(),
  scopes: Type.Array(Type.String()),
  /** `user@domain`, or `@domain` for all addresses of a domain. */
  directAddresses: Type.Array(Type.String()),
  requestFinalDelivery: Type.Boolean(),
  /** The limits in force; `own` names those that are set for this client. */
  limits: Type.Required(clientLimits),
  own: Type.Array(Type.String()),
  secrets: Type.Array(Type.Object({ secretId: Type.String(), createdAt: time })),
  dataUseAcceptedAt: nullable(time),
  createdAt: time,
  disabledAt: nullable(time),
  /** Time of its last token or send; null if the audit trail has neither. */
  lastSeenAt: nullable(time),
  /** Today, UTC. */
  usage: Type.Object({
    directoryRecords: Type.Integer(),
    messages: Type.Integer(),
  }),
});
export type Client = Static<typeof client>;

/** `GET /admin/v1/clients` */
export const clientList = named('ClientList', { result: Type.Array(client) });
export type ClientList = Static<typeof clientList>;

/** `GET /admin/v1/clients/:id` */
export const clientDetails = named('ClientDetails', {
  client,
  /** Shell commands to copy: a token, then a first request for each scope. Secrets are named, not shown. */
  firstRequests: Type.Array(Type.Object({ title: Type.String(), command: Type.String() })),
});
export type ClientDetails = Static<typeof clientDetails>;

/** `POST /admin/v1/clients`; `PATCH /admin/v1/clients/:id` takes the same fields, all optional. */
export const newClient = bodyOf('NewClient', {
  name: Type.String({ minLength: 1, maxLength: 200 }),
  organization: Type.Optional(
    Type.String({ maxLength: 64, description: "Whose it is; at first the operator's own." }),
  ),
  scopes: Type.Array(scope, { minItems: 1 }),
  directAddresses: Type.Optional(Type.Array(Type.String({ maxLength: 255 }), { maxItems: 500 })),
  requestFinalDelivery: Type.Optional(Type.Boolean()),
  limits: Type.Optional(clientLimits),
  hasAcceptedDataUse: Type.Optional(Type.Boolean()),
});
export type NewClient = Static<typeof newClient>;

export const clientChange = Type.Partial(newClient, { title: 'ClientChange', additionalProperties: false });
export type ClientChange = Static<typeof clientChange>;

/** `POST /admin/v1/clients` and `POST /admin/v1/clients/:id/secrets`: the secret is shown this once. */
export const issuedSecret = named('IssuedSecret', {
  clientId: Type.String(),
  secretId: Type.String(),
  clientSecret: Type.String(),
});
export type IssuedSecret = Static<typeof issuedSecret>;
/** `DELETE /admin/v1/clients/:id/secrets/:secretId?isForced=` */
export const revokeQuery = queryOf({
  isForced: Type.Optional(
    Type.Boolean({ description: 'Also the only secret, which locks the client out; otherwise refused.' }),
  ),
});

/**
 * `DELETE /admin/v1/clients/:id/secrets/:secretId`, `POST /admin/v1/clients/:id/disable` and `…/enable`
 * answer `Done`.
 */
