import { Type, type Static } from 'typebox';
import { level, nullable, oneOf, time } from './common.ts';

export const scope = oneOf(['provider-directory', 'messaging.api', 'provisioning', 'forwarding']);

export const clientLimits = Type.Object({
  directoryRequestsPerSecond: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  directoryRequestsBurst: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  directoryRecordsPerDay: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  sendsPerSecond: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  sendsBurst: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
});
export type ClientLimits = Static<typeof clientLimits>;

export const client = Type.Object(
  {
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
  },
  { title: 'Client' },
);
export type Client = Static<typeof client>;

/** `GET /admin/v1/clients` */
export const clientList = Type.Object({ result: Type.Array(client) }, { title: 'ClientList' });
export type ClientList = Static<typeof clientList>;

/** `GET /admin/v1/clients/:id` */
export const clientDetails = Type.Object(
  {
    client,
    /** Shell commands to copy: a token, then a first request for each scope. Secrets are named, not shown. */
    firstRequests: Type.Array(Type.Object({ title: Type.String(), command: Type.String() })),
  },
  { title: 'ClientDetails' },
);
export type ClientDetails = Static<typeof clientDetails>;

/** `POST /admin/v1/clients`; `PATCH /admin/v1/clients/:id` takes the same fields, all optional. */
export const newClient = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 200 }),
    organization: Type.Optional(
      Type.String({ maxLength: 64, description: "Whose it is; at first the operator's own." }),
    ),
    scopes: Type.Array(scope, { minItems: 1 }),
    directAddresses: Type.Optional(Type.Array(Type.String({ maxLength: 255 }), { maxItems: 500 })),
    requestFinalDelivery: Type.Optional(Type.Boolean()),
    limits: Type.Optional(clientLimits),
    hasAcceptedDataUse: Type.Optional(Type.Boolean()),
  },
  { title: 'NewClient', additionalProperties: false },
);
export type NewClient = Static<typeof newClient>;

export const clientChange = Type.Partial(newClient, { title: 'ClientChange', additionalProperties: false });
export type ClientChange = Static<typeof clientChange>;

/** `POST /admin/v1/clients` and `POST /admin/v1/clients/:id/secrets`: the secret is shown this once. */
export const issuedSecret = Type.Object(
  { clientId: Type.String(), secretId: Type.String(), clientSecret: Type.String() },
  { title: 'IssuedSecret' },
);
export type IssuedSecret = Static<typeof issuedSecret>;
/** `DELETE /admin/v1/clients/:id/secrets/:secretId?isForced=` */
export const revokeQuery = Type.Object(
  {
    isForced: Type.Optional(
      Type.Boolean({ description: 'Also the only secret, which locks the client out; otherwise refused.' }),
    ),
  },
  { additionalProperties: false },
);

/**
 * `DELETE /admin/v1/clients/:id/secrets/:secretId`, `POST /admin/v1/clients/:id/disable` and `…/enable`
 * answer `Done`.
 */
