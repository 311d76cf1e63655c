import { Type, type Static } from 'typebox';
import { legalHold } from './legal-holds.ts';
import { nullable, oneOf, pageOf, paging, time, named, queryOf, bodyOf } from './common.ts';

/** What the directory shows of a hosted address; absent or empty is not said. */
export const addressEntry = Type.Partial(
  Type.Object({
    npi: Type.String({ maxLength: 20 }),
    firstName: Type.String({ maxLength: 100 }),
    middleName: Type.String({ maxLength: 100 }),
    lastName: Type.String({ maxLength: 100 }),
    suffix: Type.String({ maxLength: 50 }),
    organization: Type.String({ maxLength: 300 }),
    specialty: Type.String({ maxLength: 300 }),
    street: Type.String({ maxLength: 300 }),
    city: Type.String({ maxLength: 100 }),
    state: Type.String({ maxLength: 50 }),
    zip: Type.String({ maxLength: 20 }),
    phone: Type.String({ maxLength: 50 }),
  }),
  { additionalProperties: false },
);
export type AddressEntry = Static<typeof addressEntry>;

export const hostedAddress = named('HostedAddress', {
  address: Type.String(),
  status: oneOf(['active', 'disabled']),
});
export type HostedAddress = Static<typeof hostedAddress>;

/** `GET /admin/v1/domains/:domain/addresses?q=` */
export const addressQuery = queryOf({
  ...paging,
  q: Type.Optional(Type.String({ maxLength: 255, description: 'Part of the address.' })),
  /** `cannot-receive`: disabled, or nobody reads its mail. */
  status: Type.Optional(oneOf(['active', 'disabled', 'cannot-receive'])),
});
export const addressPage = Type.Intersect(
  [pageOf(hostedAddress, 'AddressRows'), Type.Object({ found: Type.Integer(), total: Type.Integer() })],
  { title: 'AddressPage' },
);
export type AddressPage = Static<typeof addressPage>;

/** To whom what comes for an address is delivered (Decision 0036). */
export const addressForwarding = named('AddressForwarding', {
  deliverTo: Type.Array(Type.String()),
  keepsCopy: Type.Boolean(),
  from: nullable(time),
  until: nullable(time),
});
export type AddressForwarding = Static<typeof addressForwarding>;

/** `PUT /admin/v1/addresses/:address/forwarding`: replaces the rule. */
export const newForwarding = bodyOf('NewForwarding', {
  deliverTo: Type.Array(Type.String({ maxLength: 255 }), {
    maxItems: 50,
    description: 'Active hosted addresses of the same organization. None ends the rule.',
  }),
  keepsCopy: Type.Optional(Type.Boolean({ description: 'The address itself gets it, too.' })),
  from: Type.Optional(time),
  until: Type.Optional(time),
});
export type NewForwarding = Static<typeof newForwarding>;

/** `GET /admin/v1/addresses/:address` */
export const addressDetails = named('AddressDetails', {
  address: Type.String(),
  status: oneOf(['active', 'disabled']),
  isListed: Type.Boolean(),
  entry: addressEntry,
  forwarding: nullable(addressForwarding),
  legalHolds: Type.Array(legalHold, { description: 'Those in force on all its mail.' }),
});
export type AddressDetails = Static<typeof addressDetails>;

/** `PUT /admin/v1/addresses/:address`: adds an address, or enables it and replaces its entry. */
export const addressPut = bodyOf('AddressPut', {
  isListed: Type.Boolean(),
  entry: Type.Optional(addressEntry),
});
export type AddressPut = Static<typeof addressPut>;

/** Answers each change of an address. */
export const addressAnswer = named('AddressAnswer', {
  address: Type.String(),
  warnings: Type.Array(Type.String()),
  sentence: Type.String(),
});
export type AddressAnswer = Static<typeof addressAnswer>;

/** `POST /admin/v1/addresses/import` */
export const addressFile = bodyOf('AddressFile', {
  csv: Type.String({
    minLength: 1,
    description: 'With a header; the columns of `openhisp address import`.',
  }),
  /** Checks and reports, and stores nothing. */
  preview: Type.Boolean(),
  /** Good rows are stored although others are refused. */
  isRowByRow: Type.Boolean(),
  /** The loss that the report names may happen. */
  acceptLoss: Type.Optional(Type.Boolean()),
});
export type AddressFile = Static<typeof addressFile>;

export const addressReport = named('AddressReport', {
  rows: Type.Array(
    Type.Object({
      line: Type.Integer(),
      address: Type.String(),
      outcome: oneOf(['added', 'changed', 'unchanged', 'refused']),
      /** Why it is refused, or warnings. */
      text: Type.String(),
    }),
  ),
  counts: Type.Object({
    added: Type.Integer(),
    changed: Type.Integer(),
    unchanged: Type.Integer(),
    refused: Type.Integer(),
  }),
  /** What many addresses would lose: nothing is stored until that is accepted. */
  loss: Type.Optional(Type.String()),
  isStored: Type.Boolean(),
  sentence: Type.String(),
});
export type AddressReport = Static<typeof addressReport>;
