import {
  Type,
  type Static,
  type TArray,
  type TEnum,
  type TObject,
  type TSchema,
  type TUnion,
  type TNull,
} from 'typebox';

/** ISO 8601 in UTC; pages show it in the reader's zone. */
export const time = Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' });

export const nullable = <Schema extends TSchema>(schema: Schema): TUnion<[Schema, TNull]> =>
  Type.Union([schema, Type.Null()]);

/** One of some words. */
export const oneOf = <Words extends string[]>(words: readonly [...Words]): TEnum<Words> =>
  Type.Enum<Words>(words);

/** A page of a list: `next` goes back as `cursor`, and is null on the last page. A page may be short and still have a next one. */
export const pageOf = <Item extends TSchema>(
  item: Item,
  title: string,
): TObject<{ result: TArray<Item>; next: TUnion<[ReturnType<typeof Type.String>, TNull]> }> =>
  Type.Object({ result: Type.Array(item), next: nullable(Type.String()) }, { title });

export interface Page<Item> {
  readonly result: readonly Item[];
  readonly next: string | null;
}

export const maxPageRows = 200;

/** To be spread into a query. */
export const paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: maxPageRows, default: 50 })),
  cursor: Type.Optional(Type.String({ maxLength: 300, description: 'What the page before named as next.' })),
};

/**
 * How a thing stands, for word, shape and color. `ok`: filled circle; `waiting`: hollow circle; `warning`: triangle; `failed`:
 * square or cross; `none`: nothing to say, no mark.
 */
export const level = oneOf(['ok', 'waiting', 'warning', 'failed', 'none']);
export type Level = Static<typeof level>;

/** What came of an action that a sentence tells. */
export const doneAnswer = Type.Object(
  { count: Type.Integer({ minimum: 0 }), sentence: Type.String() },
  { title: 'Done' },
);
export type DoneAnswer = Static<typeof doneAnswer>;

/** One fault of a request. */
export const problem = Type.Object(
  {
    field: Type.String({ description: 'The parameter or body field at fault; empty if it is none.' }),
    reason: Type.String({ description: 'A stable word for programs.' }),
    detail: Type.String({ description: 'A sentence for people.' }),
  },
  { title: 'Problem' },
);
export type Problem = Static<typeof problem>;

/** The body of every refusal, as that of the public API. 401: the session is over; 403: the role does not allow it. */
export const errorAnswer = Type.Object(
  {
    status: Type.Literal('Error'),
    code: Type.Integer({ description: 'The HTTP status again.' }),
    message: Type.String(),
    errors: Type.Array(problem),
    requestId: Type.String(),
  },
  { title: 'Error' },
);
export type ErrorAnswer = Static<typeof errorAnswer>;

/** A fact with a name, such as `from` or `count`. */
export const facts = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]));
