import { named } from './named.ts';
import { Type } from 'typebox';

/** The verification state of an address, in a provider record and in a check, on request (Decision 0027). */
export const addressVerification = named('AddressVerification', {
  state: Type.Enum(['trusted', 'discoverable', 'expired', 'no-certificate', 'unreachable', 'unverified'], {
    description: 'The result of the last check of the address. It does not affect sending.',
  }),
  reason: Type.String({ description: 'A code for the reason, or for an open question; may be empty.' }),
  checkedTime: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'Time of the check; null if there was none.',
  }),
  lastProcessedMonth: Type.Union([Type.String({ pattern: '^[0-9]{4}-[0-9]{2}$' }), Type.Null()], {
    description: 'The month in which a message from this service was last processed; null if none was.',
  }),
});
