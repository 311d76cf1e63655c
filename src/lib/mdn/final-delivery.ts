import { formatMailbox, type HeaderPair, type MimeEntity } from '../mime/index.ts';

/**
 * Asks for, and in a dispatched MDN confirms, delivery to the final destination (Delivery Notification IG
 * §1).
 */
export const finalDeliveryField = 'X-DIRECT-FINAL-DESTINATION-DELIVERY';

const maxOptionsLength = 2000;
// RFC 8098 §2.2: attribute, importance, values; the importance must be there.
const option = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(required|optional)\s*,\s*(.+?)\s*$/i;

/**
 * True if the message asks for the dispatched MDN (MDN-09): one Disposition-Notification-Options field with
 * `X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true`, in any case. A malformed field asks for nothing
 * (MDN-11).
 */
export function requestsFinalDelivery(message: MimeEntity): boolean {
  const [value = '', ...others] = message.headers('disposition-notification-options');
  if (others.length > 0 || value.length > maxOptionsLength) return false;
  const matches = value.split(';').map((piece) => option.exec(piece));
  // One piece that cannot be read spoils the whole field; a semicolon at the end is harmless.
  if (matches.some((match, index) => match === null && value.split(';')[index]?.trim() !== '')) return false;
  const wanted = matches.filter((match) => match?.[1]?.toUpperCase() === finalDeliveryField);
  return wanted.length === 1 && wanted[0]?.[3]?.toLowerCase() === 'true';
}

/**
 * The headers of a message whose sender requests the dispatched MDN (MDN-20). Throws MimeError for an illegal
 * address.
 */
export function finalDeliveryHeaders(sender: string): HeaderPair[] {
  return [
    ['Disposition-Notification-To', formatMailbox(sender)],
    ['Disposition-Notification-Options', `${finalDeliveryField}=optional,true`],
  ];
}
