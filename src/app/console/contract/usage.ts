import { Type, type Static } from 'typebox';
import { nullable, oneOf, time, named } from './common.ts';

const month = Type.String({
  pattern: String.raw`^\d{4}-(0[1-9]|1[0-2])$`,
  description: '`2026-11`, in UTC.',
});

/** Query of `GET /admin/v1/usage`; the last twelve months by default. */
export const usageQuery = Type.Object({
  from: Type.Optional(month),
  to: Type.Optional(month),
  by: Type.Optional(oneOf(['month', 'day', 'organization', 'client', 'domain', 'all'])),
  organization: Type.Optional(Type.String({ maxLength: 64 })),
  client: Type.Optional(Type.String({ maxLength: 255 })),
  domain: Type.Optional(Type.String({ maxLength: 255 })),
});

export const usageRow = named('UsageRow', {
  /** Each is empty unless the rows are told apart by it. */
  day: Type.String(),
  month: Type.String(),
  organization: Type.String({ description: 'Its id.' }),
  organizationName: Type.String(),
  clientId: Type.String(),
  clientName: Type.String(),
  domain: Type.String(),
  messages: Type.Integer(),
  recipients: Type.Integer(),
  /** Of the messages before they are sealed. */
  octets: Type.Integer(),
  /** Recipients by their state now. */
  delivered: Type.Integer(),
  failed: Type.Integer(),
  waiting: Type.Integer(),
});
export type UsageRow = Static<typeof usageRow>;

/** `GET /admin/v1/usage` */
export const usage = named('Usage', {
  from: Type.String(),
  to: Type.String(),
  result: Type.Array(usageRow),
  /** There are more rows than an answer has. */
  isCut: Type.Boolean(),
  /** Null if nothing was counted yet. */
  countedAt: nullable(time),
});
export type Usage = Static<typeof usage>;
