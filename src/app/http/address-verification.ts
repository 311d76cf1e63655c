import { Type } from 'typebox';

/** What is known of an address, in a provider record and in a check, for who asks for it (Decision 0027). */
export const addressVerification = Type.Object(
  {
    state: Type.Enum(['trusted', 'discoverable', 'expired', 'no-certificate', 'unreachable', 'unverified'], {
      description: 'What the last check of the address found. Decides nothing about a message.',
    }),
    reason: Type.String({ description: 'A code that says why, or what was left open; may be empty.' }),
    checkedTime: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When it was checked; null if never.',
    }),
    lastProcessedMonth: Type.Union([Type.String({ pattern: '^[0-9]{4}-[0-9]{2}$' }), Type.Null()], {
      description: 'The month in which a message from this service was last processed; null if none was.',
    }),
  },
  { title: 'AddressVerification' },
);
