import { viewAsBuffer } from '../../core/index.ts';
import { Asn1Error } from './errors.ts';
import type { Asn1 } from './read-asn1.ts';
import { contentBytes, isUniversal } from './read-values.ts';
import { tags } from './tags.ts';

const utcTime = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?()(Z|[+-]\d{4})$/;
const generalizedTime = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(\.\d{1,9})?(Z|[+-]\d{4})$/;

/**
 * UTCTime or GeneralizedTime as an instant. Two-digit years below 50 are 20xx (RFC 5280 §4.1.2.5.1). Missing
 * seconds, fractions and offsets are read, since senders write them; a local time without an offset is
 * refused, since it names no instant.
 */
export function readTime(node: Asn1): Date {
  const isUtc = isUniversal(node, tags.utcTime);
  if ((!isUtc && !isUniversal(node, tags.generalizedTime)) || node.isConstructed) {
    throw new Asn1Error('ASN1_UNEXPECTED_TYPE', 'not a time');
  }
  const found = (isUtc ? utcTime : generalizedTime).exec(viewAsBuffer(contentBytes(node)).toString('latin1'));
  const time = found === null ? undefined : instantOf(found, isUtc);
  if (time === undefined) throw new Asn1Error('ASN1_VALUE_INVALID', 'a time');
  return time;
}

function instantOf(found: RegExpExecArray, isUtc: boolean): Date | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((text) => Number(text ?? 0));
  const fullYear = isUtc ? year + (year < 50 ? 2000 : 1900) : year;
  const time = new Date(0);
  time.setUTCFullYear(fullYear, month - 1, day);
  time.setUTCHours(hour, minute, second, Math.trunc(Number(`0${found[7] ?? ''}`) * 1000));
  // A date that does not exist rolls over instead of failing.
  const isReal =
    time.getUTCMonth() === month - 1 && time.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  const offsetMinutes = offsetOf(found[8] ?? 'Z');
  return isReal && offsetMinutes !== undefined
    ? new Date(time.getTime() - offsetMinutes * 60_000)
    : undefined;
}

function offsetOf(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
