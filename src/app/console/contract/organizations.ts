import { Type, type Static } from 'typebox';
import { level, nullable, time, named, bodyOf, queryOf } from './common.ts';
import { legalHold } from './legal-holds.ts';

const line = Type.String({ maxLength: 200 });
const limit = nullable(Type.Integer({ minimum: 0 }));

/** Of an organization; null is no limit. */
export const organizationLimits = Type.Object({
  addresses: limit,
  messagesPerDay: limit,
  octetsPerDay: limit,
  storageOctets: limit,
});
export type OrganizationLimits = Static<typeof organizationLimits>;

export const organizationEntry = named('OrganizationEntry', {
  id: Type.String(),
  name: Type.String(),
  isOpen: Type.Boolean(),
  isBuiltIn: Type.Boolean({ description: 'It owns what was given to no other, and is not closed.' }),
  level,
  /** The state, in one sentence. */
  text: Type.String(),
  domains: Type.Integer(),
  addresses: Type.Integer(),
  clients: Type.Integer(),
});
export type OrganizationEntry = Static<typeof organizationEntry>;

/** `GET /admin/v1/organizations`: the operator's own first, then by name. */
export const organizationList = named('OrganizationList', { result: Type.Array(organizationEntry) });
export type OrganizationList = Static<typeof organizationList>;

/** `GET /admin/v1/organizations/:id`. */
export const organizationDetails = named('OrganizationDetails', {
  organization: organizationEntry,
  npi: Type.String(),
  street: Type.String(),
  city: Type.String(),
  state: Type.String(),
  zip: Type.String(),
  contacts: Type.Array(Type.String()),
  limits: organizationLimits,
  /** Of its limits, now and on this day in UTC; what has no limit is not counted. */
  used: organizationLimits,
  closedAt: nullable(time),
  closedReason: Type.String(),
  createdAt: nullable(time),
  domains: Type.Array(Type.String()),
  clients: Type.Array(Type.Object({ clientId: Type.String(), name: Type.String() })),
  legalHolds: Type.Array(legalHold, { description: 'Those in force on all its mail.' }),
  operators: Type.Array(Type.Object({ name: Type.String(), role: Type.String(), isEnabled: Type.Boolean() })),
});
export type OrganizationDetails = Static<typeof organizationDetails>;

const settings = {
  npi: Type.Optional(Type.String({ maxLength: 20 })),
  street: Type.Optional(line),
  city: Type.Optional(line),
  state: Type.Optional(Type.String({ maxLength: 2 })),
  zip: Type.Optional(Type.String({ maxLength: 10 })),
  contacts: Type.Optional(Type.Array(line, { maxItems: 10 })),
  limits: Type.Optional(Type.Partial(organizationLimits)),
};

/** `POST /admin/v1/organizations`. */
export const newOrganization = bodyOf('NewOrganization', {
  name: Type.String({ minLength: 1, maxLength: 200 }),
  id: Type.Optional(Type.String({ maxLength: 64, description: 'Small letters, digits and hyphens.' })),
  ...settings,
});
export type NewOrganization = Static<typeof newOrganization>;

/** `PATCH /admin/v1/organizations/:id`. Omitted fields keep their values. */
export const organizationChange = bodyOf('OrganizationChange', {
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  ...settings,
});
export type OrganizationChange = Static<typeof organizationChange>;

/** `POST /admin/v1/organizations/:id/close`. */
export const organizationClosing = queryOf({ reason: Type.String({ minLength: 1, maxLength: 200 }) });
