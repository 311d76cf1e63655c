/**
 * The one table of the states of a recipient of a sent message (Decision 0012), from the least far to the
 * final ones. `kind` says what a state means to those who ask less: `waiting` for delivery or its MDN,
 * `delivered`, or `failed`. The lifecycle is in `service/messaging/status/states.ts`; sets, conditions of
 * indexes, schemas and filters derive from this table.
 */
const table = {
  queued: { kind: 'waiting' },
  sent: { kind: 'waiting' },
  processed: { kind: 'delivered' },
  dispatched: { kind: 'delivered' },
  failed: { kind: 'failed' },
  expired: { kind: 'failed' },
} as const satisfies Readonly<Record<string, { readonly kind: 'waiting' | 'delivered' | 'failed' }>>;

/** State of one recipient of one sent message. */
export type RecipientState = keyof typeof table;
type RecipientStateKind = (typeof table)[RecipientState]['kind'];
type FailedState = {
  [State in RecipientState]: (typeof table)[State]['kind'] extends 'failed' ? State : never;
}[RecipientState];

export const recipientStates = Object.keys(table) as RecipientState[];

function isRecipientState(text: string): text is RecipientState {
  return Object.hasOwn(table, text);
}

/** True for a state of a message that will not arrive. */
export function isFailedState(state: string): state is FailedState {
  return isRecipientState(state) && table[state].kind === 'failed';
}

/** The states of a kind, in the order of the table. */
export function recipientStatesOf(...kinds: readonly RecipientStateKind[]): readonly RecipientState[] {
  return recipientStates.filter((state) => kinds.includes(table[state].kind));
}
