import { Type, type Static } from 'typebox';
import { level, nullable, oneOf, time, named, bodyOf } from './common.ts';

export const edgeProtocol = oneOf(['line', 'submission', 'imap', 'pop3']);

export const edgePolicies = Type.Object({
  requestsFinalDelivery: Type.Boolean(),
  noticesInMailbox: Type.Boolean({ description: 'The outcome of what was sent comes as mail.' }),
  outbound: oneOf(['as-submitted', 'xdm']),
  authorInstitution: Type.String({
    maxLength: 255,
    description: 'Of packages that are made: name, nine carets and an OID; empty for none.',
  }),
  inbound: oneOf(['as-it-came', 'unpacked', 'xdm']),
  acknowledgedBy: oneOf(['stored', 'fetched', 'deleted']),
});
export type EdgePolicies = Static<typeof edgePolicies>;

export const edgeAccount = named('EdgeAccount', {
  accountId: Type.String(),
  clientId: Type.String(),
  clientName: Type.String(),
  username: Type.String(),
  isEnabled: Type.Boolean(),
  level,
  text: Type.String(),
  addresses: Type.Array(Type.String()),
  protocols: Type.Array(edgeProtocol),
  policies: edgePolicies,
  passwords: Type.Array(Type.Object({ passwordId: Type.String(), createdAt: time })),
  createdAt: time,
  disabledAt: nullable(time),
});
export type EdgeAccount = Static<typeof edgeAccount>;

/** `GET /admin/v1/edge-accounts` */
export const edgeAccountList = named('EdgeAccountList', { result: Type.Array(edgeAccount) });
export type EdgeAccountList = Static<typeof edgeAccountList>;

const settings = {
  addresses: Type.Array(Type.String({ maxLength: 255 }), { minItems: 1, maxItems: 500 }),
  protocols: Type.Array(edgeProtocol, { minItems: 1 }),
  policies: Type.Partial(edgePolicies, { additionalProperties: false }),
};

/** `POST /admin/v1/edge-accounts` */
export const newEdgeAccount = bodyOf('NewEdgeAccount', {
  clientId: Type.String({ maxLength: 100 }),
  username: Type.String({ minLength: 1, maxLength: 255 }),
  addresses: settings.addresses,
  protocols: settings.protocols,
  policies: Type.Optional(settings.policies),
});
export type NewEdgeAccount = Static<typeof newEdgeAccount>;

/** `PATCH /admin/v1/edge-accounts/:id`: omitted fields keep their values. */
export const edgeAccountChange = Type.Partial(Type.Object(settings), {
  title: 'EdgeAccountChange',
  additionalProperties: false,
});
export type EdgeAccountChange = Static<typeof edgeAccountChange>;

/** `POST /admin/v1/edge-accounts` and `…/:id/passwords`: the password is shown this once. */
export const issuedPassword = named('IssuedPassword', {
  accountId: Type.String(),
  username: Type.String(),
  passwordId: Type.String(),
  password: Type.String(),
});
export type IssuedPassword = Static<typeof issuedPassword>;
