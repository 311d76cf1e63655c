import { Type, type Static } from 'typebox';
import { level, nullable, time, named, bodyOf } from './common.ts';
import { ownPasskey, role, sessionEntry } from './session.ts';

export const operatorEntry = named('Operator', {
  name: Type.String(),
  role,
  /** The id of the only one that the operator sees; null: everything. */
  organization: nullable(Type.String()),
  isExternal: Type.Boolean({
    description: 'An OpenID provider signs the operator in and decides the role.',
  }),
  isCaller: Type.Boolean({ description: 'Whoever asks changes neither their own role nor access.' }),
  isEnabled: Type.Boolean(),
  level,
  /** The state, in one sentence. */
  text: Type.String(),
  passkeys: Type.Integer(),
  sessions: Type.Integer(),
  createdAt: time,
  disabledAt: nullable(time),
});
export type OperatorEntry = Static<typeof operatorEntry>;

/** `GET /admin/v1/operators`: by name. */
export const operatorList = named('OperatorList', { result: Type.Array(operatorEntry) });
export type OperatorList = Static<typeof operatorList>;

export const operatorToken = named('OperatorToken', {
  id: Type.String(),
  label: Type.String(),
  createdAt: time,
  endsAt: time,
});
export type OperatorToken = Static<typeof operatorToken>;

/** `GET /admin/v1/operators/:name`: with all that lets the operator in. */
export const operatorDetails = named('OperatorDetails', {
  operator: operatorEntry,
  sessions: Type.Array(sessionEntry),
  tokens: Type.Array(operatorToken),
  passkeys: Type.Array(ownPasskey),
});
export type OperatorDetails = Static<typeof operatorDetails>;

/** `POST /admin/v1/operators`. Answers `OperatorLink`. */
export const newOperator = bodyOf('NewOperator', {
  name: Type.String({ minLength: 1, maxLength: 80 }),
  role,
  organization: Type.Optional(
    Type.String({ maxLength: 64, description: 'Sees and changes only what this organization owns.' }),
  ),
});
export type NewOperator = Static<typeof newOperator>;

/** `PATCH /admin/v1/operators/:name`. */
export const operatorChange = bodyOf('OperatorChange', { role });
export type OperatorChange = Static<typeof operatorChange>;

/** The link by which an operator registers a passkey; shown once. */
export const operatorLink = named('OperatorLink', {
  name: Type.String(),
  link: Type.String({ description: 'Whoever has it can use it, once.' }),
  endsAt: time,
});
export type OperatorLink = Static<typeof operatorLink>;
