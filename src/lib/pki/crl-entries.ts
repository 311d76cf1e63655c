import { randomInt } from 'node:crypto';
import { equalBytes } from '../../core/index.ts';
import { der, tags } from '../asn1/index.ts';
import { PkiError } from './errors.ts';
import { oids } from './oids.ts';

/** Position of one DER element. */
export interface Span {
  readonly tagByte: number;
  readonly start: number;
  readonly contentStart: number;
  readonly end: number;
}

/** Entries of a CRL by serial number, found without building a tree. */
export interface ScannedEntries {
  /** Entries with different serial numbers. */
  readonly count: number;
  /** The start of the last entry with these content bytes of the serial's INTEGER. */
  find(serial: Uint8Array): number | undefined;
  readonly hasUnknownCritical: boolean;
  /** An entry says that it, and those behind it, are of another issuer (RFC 5280 §5.3.3). */
  readonly hasOtherIssuer: boolean;
}

/** The entry extension that may be critical. */
const knownEntryOid: Uint8Array = der.oid(oids.crlReason);
const otherIssuerOid: Uint8Array = der.oid(oids.certificateIssuer);

/** Entries scanned in one turn of the event loop: some milliseconds. */
const entriesPerTurn = 5_000;

/**
 * Scans `revokedCertificates` (RFC 5280 §5.1.2.6), and yields where others may have their turn. Errors:
 * `PKI_CRL_MALFORMED`.
 */
export function* scanEntries(
  bytes: Uint8Array,
  list: Span | undefined,
): Generator<undefined, ScannedEntries> {
  const table = createSerialTable(bytes, yield* countEntries(bytes, list));
  let [hasUnknownCritical, hasOtherIssuer] = [false, false];
  const inner = createCursor(bytes, 0, 0);
  const cursor = createCursor(bytes, list?.contentStart ?? 0, list?.end ?? 0);
  for (let count = 1; cursor.next(); count++) {
    if (count % entriesPerTurn === 0) yield;
    if (cursor.tagByte !== 0x30) throw malformed();
    inner.reset(cursor.contentStart, cursor.end);
    if (!inner.next() || !hasTag(inner, tags.integer)) throw malformed();
    table.put(startOfNumber(bytes, inner), inner.end, cursor.start);
    if (!inner.next() || !hasTag(inner, tags.utcTime, tags.generalizedTime)) throw malformed();
    if (inner.next()) {
      if (!hasTag(inner, 0x30)) throw malformed();
      const found = scanExtensions(bytes, inner.contentStart, inner.end);
      hasUnknownCritical ||= found.hasUnknownCritical;
      hasOtherIssuer ||= found.hasOtherIssuer;
      if (inner.next()) throw malformed();
    }
  }
  return { count: table.size(), find: table.find, hasUnknownCritical, hasOtherIssuer };
}

function* countEntries(bytes: Uint8Array, list: Span | undefined): Generator<undefined, number> {
  const cursor = createCursor(bytes, list?.contentStart ?? 0, list?.end ?? 0);
  let count = 0;
  while (cursor.next()) if (++count % (entriesPerTurn * 10) === 0) yield;
  return count;
}

/**
 * Entries by serial number in one typed array, half of it free: a Map takes a hundred bytes for an entry of
 * ten, and a list has millions.
 */
function createSerialTable(bytes: Uint8Array, count: number) {
  const places = new Uint32Array(2 ** Math.ceil(Math.log2(2 * count + 2)));
  const [entry, serial] = [createCursor(bytes, 0, 0), createCursor(bytes, 0, 0)];
  let size = 0;

  function holds(place: number, number: Uint8Array, start: number, end: number): boolean {
    entry.reset(places[place] ?? 0, bytes.length);
    entry.next();
    serial.reset(entry.contentStart, entry.end);
    serial.next();
    const length = end - start;
    const from = startOfNumber(bytes, serial);
    if (serial.end - from !== length) return false;
    for (let at = 0; at < length; at++) if (number[start + at] !== bytes[from + at]) return false;
    return true;
  }

  /** Its place, or the free one in which it belongs. No entry of a list begins at 0. */
  function placeOf(from: Uint8Array, start: number, end: number): number {
    let place = hashOf(from, start, end) & (places.length - 1);
    while (places[place] !== 0 && !holds(place, from, start, end)) place = (place + 1) & (places.length - 1);
    return place;
  }

  return {
    size: () => size,
    put(serialStart: number, serialEnd: number, entryStart: number): void {
      const place = placeOf(bytes, serialStart, serialEnd);
      if (places[place] === 0) size++;
      places[place] = entryStart;
    },
    find: (number: Uint8Array): number | undefined =>
      places[placeOf(number, startOfNumber(number), number.length)] || undefined,
  };
}

/**
 * Where the magnitude of an INTEGER begins. Some CAs write a zero too many, or one too few, in the
 * certificate or in the list: its number must revoke all the same.
 */
function startOfNumber(
  bytes: Uint8Array,
  { contentStart, end }: Pick<Span, 'contentStart' | 'end'> = { contentStart: 0, end: bytes.length },
): number {
  let at = contentStart;
  while (bytes[at] === 0 && at + 1 < end) at++;
  return at;
}

/**
 * Whoever answers in place of a CA's web server could otherwise choose serial numbers that share their
 * places: reading a list of 32 MB would take ten times as long, before its signature is looked at.
 */
const hashSeed = randomInt(2 ** 32);

/** FNV-1a from a secret beginning, mixed, and the last step of MurmurHash3. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = hashSeed;
  for (let at = start; at < end; at++) {
    hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function hasTag(cursor: Cursor, ...tagBytes: readonly number[]): boolean {
  return tagBytes.includes(cursor.tagByte);
}

function scanExtensions(
  bytes: Uint8Array,
  start: number,
  end: number,
): Pick<ScannedEntries, 'hasUnknownCritical' | 'hasOtherIssuer'> {
  const extensions = createCursor(bytes, start, end);
  const fields = createCursor(bytes, 0, 0);
  let [hasUnknownCritical, hasOtherIssuer] = [false, false];
  while (extensions.next()) {
    fields.reset(extensions.contentStart, extensions.end);
    if (extensions.tagByte !== 0x30 || !fields.next()) throw malformed();
    const oid = bytes.subarray(fields.start, fields.end);
    const isCritical = fields.next() && fields.tagByte === tags.boolean && bytes[fields.contentStart] !== 0;
    if (equalBytes(otherIssuerOid, oid)) hasOtherIssuer = true;
    else if (isCritical && !equalBytes(knownEntryOid, oid)) hasUnknownCritical = true;
  }
  return { hasUnknownCritical, hasOtherIssuer };
}

/** The elements between two offsets. For structures with few elements. */
export function scanElements(bytes: Uint8Array, start: number, end: number): Span[] {
  const cursor = createCursor(bytes, start, end);
  const spans: Span[] = [];
  while (cursor.next()) {
    if (spans.length >= 16) throw malformed();
    spans.push({
      tagByte: cursor.tagByte,
      start: cursor.start,
      contentStart: cursor.contentStart,
      end: cursor.end,
    });
  }
  return spans;
}

interface Cursor {
  tagByte: number;
  start: number;
  contentStart: number;
  end: number;
  /** Moves to the next element; false at the end. */
  next(): boolean;
  reset(start: number, end: number): void;
}

/** A cursor that is reused, since a list of 50,000 entries has 200,000 elements. */
function createCursor(bytes: Uint8Array, from: number, to: number): Cursor {
  let limit = to;
  const cursor: Cursor = {
    tagByte: 0,
    start: from,
    contentStart: from,
    end: from,
    reset: (start, end) => {
      cursor.end = start;
      limit = end;
    },
    next: () => {
      const start = cursor.end;
      if (start >= limit) return false;
      cursor.tagByte = bytes[start] ?? 0;
      let at = start + 2;
      let length = bytes[start + 1] ?? 0x80;
      if (length >= 0x80) {
        const count = length & 0x7f;
        if (count === 0 || count > 4 || (bytes[at] ?? 0) === 0) throw malformed();
        length = 0;
        for (const end = at + count; at < end; at++) length = length * 256 + (bytes[at] ?? 0);
        if (length < 0x80) throw malformed();
      }
      if ((cursor.tagByte & 0x1f) === 0x1f || at + length > limit) throw malformed();
      cursor.start = start;
      cursor.contentStart = at;
      cursor.end = at + length;
      return true;
    },
  };
  return cursor;
}

function malformed(): PkiError {
  return new PkiError('PKI_CRL_MALFORMED', 'a CRL that is not DER');
}
