import { equalBytes, viewAsBuffer } from '../../core/index.ts';
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
  /** Content bytes of the serial's INTEGER (as Latin-1 text) to the start of the entry. */
  readonly offsets: ReadonlyMap<string, number>;
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
  const offsets = new Map<string, number>();
  let [hasUnknownCritical, hasOtherIssuer] = [false, false];
  if (list === undefined) return { offsets, hasUnknownCritical, hasOtherIssuer };
  const view = viewAsBuffer(bytes);
  const cursor = createCursor(bytes, list.contentStart, list.end);
  const inner = createCursor(bytes, 0, 0);
  for (let count = 1; cursor.next(); count++) {
    if (count % entriesPerTurn === 0) yield;
    if (cursor.tagByte !== 0x30) throw malformed();
    inner.reset(cursor.contentStart, cursor.end);
    if (!inner.next() || !hasTag(inner, tags.integer)) throw malformed();
    offsets.set(view.toString('latin1', inner.contentStart, inner.end), cursor.start);
    if (!inner.next() || !hasTag(inner, tags.utcTime, tags.generalizedTime)) throw malformed();
    if (inner.next()) {
      if (!hasTag(inner, 0x30)) throw malformed();
      const found = scanExtensions(bytes, inner.contentStart, inner.end);
      hasUnknownCritical ||= found.hasUnknownCritical;
      hasOtherIssuer ||= found.hasOtherIssuer;
      if (inner.next()) throw malformed();
    }
  }
  return { offsets, hasUnknownCritical, hasOtherIssuer };
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
