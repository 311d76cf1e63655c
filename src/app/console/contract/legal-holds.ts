import { Type, type Static } from 'typebox';
import { nullable, oneOf, time, named, bodyOf } from './common.ts';

/** Why retention deletes nothing of a message, or of all messages of an address (Decision 0034). */
export const legalHold = named('LegalHold', {
  id: Type.String(),
  kind: oneOf(['message', 'address', 'organization']),
  /** A Message-ID with angle brackets, an address in lower case, or the id of an organization. */
  subject: Type.String(),
  reason: Type.String(),
  author: Type.String(),
  since: time,
  releasedAt: nullable(time),
});
export type LegalHold = Static<typeof legalHold>;

const reason = Type.String({ minLength: 1, maxLength: 500, description: 'One line, for other operators.' });

/** `POST /admin/v1/legal-holds` */
export const newLegalHold = bodyOf('NewLegalHold', {
  kind: oneOf(['message', 'address', 'organization']),
  name: Type.String({
    minLength: 1,
    maxLength: 998,
    description:
      'Any id of a message, sent or received; an address, hosted or not; or the id of an organization.',
  }),
  reason,
});
export type NewLegalHold = Static<typeof newLegalHold>;

/** `POST /admin/v1/legal-holds/:holdId/release` */
export const legalHoldRelease = bodyOf('LegalHoldRelease', { reason });
export type LegalHoldRelease = Static<typeof legalHoldRelease>;
