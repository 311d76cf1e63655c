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
import { bodyOf, named, queryOf } from '../../http/index.ts';

export { bodyOf, named, queryOf };

/** ISO 8601 in UTC; pages show it in the reader's zone. */
export const time = Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' });

export const nullable = <Schema extends TSchema>(schema: Schema): TUnion<[Schema, TNull]> =>
  Type.Union([schema, Type.Null()]);

/** One of several literal strings. */
export const oneOf = <Words extends string[]>(words: readonly [...Words]): TEnum<Words> =>
  Type.Enum<Words>(words);

/**
 * A page of a list: `next` is the `cursor` of the next page, and null on the last one. A page may be short
 * and still have a next one.
 */
export const pageOf = <Item extends TSchema>(
  item: Item,
  title: string,
): TObject<{ result: TArray<Item>; next: TUnion<[ReturnType<typeof Type.String>, TNull]> }> =>
  Type.Object({ result: Type.Array(item), next: nullable(Type.String()) }, { title });

export interface Page<Item> {
  /** All rows, where they are counted; null if there are more than are counted. */
  readonly total?: number | null;
  readonly result: readonly Item[];
  readonly next: string | null;
}

export const maxPageRows = 200;

/** Properties to spread into a query schema. */
export const paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: maxPageRows, default: 50 })),
  cursor: Type.Optional(Type.String({ maxLength: 300, description: '`next` of the previous page.' })),
};

/**
 * The level of a state, shown by word, shape and color. `ok`: filled circle; `waiting`: hollow circle;
 * `warning`: triangle; `failed`: square or cross; `none`: no mark.
 */
export const level = oneOf(['ok', 'waiting', 'warning', 'failed', 'none']);
export type Level = Static<typeof level>;

/** The result of an action, with a sentence to show. */
export const doneAnswer = named('Done', { count: Type.Integer({ minimum: 0 }), sentence: Type.String() });
export type DoneAnswer = Static<typeof doneAnswer>;

/** One fault of a request. */
export const problem = named('Problem', {
  field: Type.String({ description: 'The invalid parameter or body field; empty if there is none.' }),
  reason: Type.String({ description: 'A stable code for programs.' }),
  detail: Type.String({ description: 'A sentence for people.' }),
});
export type Problem = Static<typeof problem>;

/**
 * The body of every refusal, as in the public API. 401: the session has ended; 403: the role lacks the
 * permission.
 */
export const errorAnswer = named('Error', {
  status: Type.Literal('Error'),
  code: Type.Integer({ description: 'The HTTP status again.' }),
  message: Type.String(),
  errors: Type.Array(problem),
  requestId: Type.String(),
});
export type ErrorAnswer = Static<typeof errorAnswer>;

/** A fact with a name, such as `from` or `count`. */
export const facts = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]));
