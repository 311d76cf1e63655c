import { readInstant } from '../../../core/index.ts';
import { findDirectAddress, isQualifiedDomain } from '../../../lib/values/index.ts';
import { readDay, type DaySpan } from './read-day.ts';
import { failureReasons, isFailureReason, type FailureReason } from '../reasons.ts';
import { recipientStates } from '../status/states.ts';

export type SearchTermKind =
  | 'message-id'
  | 'id-start'
  | 'wire-id'
  | 'request-id'
  | 'address'
  | 'address-start'
  | 'domain'
  | 'client'
  | 'state'
  | 'reason'
  | 'since'
  | 'until';

/** The interpretation of one term of the search box. */
export interface SearchTerm {
  readonly kind: SearchTermKind;
  readonly typed: string;
  /** The searched value; times in ISO 8601. */
  readonly value: string;
}

export interface ParsedSearch {
  readonly terms: readonly SearchTerm[];
  /** Terms that could not be interpreted. */
  readonly unread: readonly string[];
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 } as const;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const named = /^(client|state|reason|request|since|until):(.+)$/;
/** The first digits of a UUID, as lists show them; a digit is among them, since `facade` is a word. */
const idStart = /^(?:urn:uuid:)?(?=.*\d)([0-9a-f]{6,8}|[0-9a-f]{8}-[0-9a-f-]{0,27})(?:…|\.{3})?$/i;
/** The beginning of the local part of an address. */
const addressStart = /^[\w.%+'-]{2,64}$/;
/** An X-Request-Id that is not a UUID; it needs a digit, so that a misspelt word is not taken for one. */
const requestId = /^(?=.*\d)[\w.:-]{8,128}$/;
const maxWords = 10;

/**
 * Parses the text of the search box: a message id (`urn:uuid:…` or bare), a Message-ID of the wire, a request
 * id, an address, a domain (`clinic.example` or `@clinic.example`), `<-1h` (in the last hour), `>2d` (before
 * two days ago), a day (`2026-11-20`, `11/20`, `yesterday`) in the zone of whoever asks, a state, a reason by
 * its code or in words, `client:ID`, the first digits of an id, the beginning of an address or a part of a
 * domain. All terms must match.
 */
export function parseSearch(text: string, now: Date, zone = 'UTC'): ParsedSearch {
  const dayOf = (word: string): DaySpan | undefined => readDay(word, now, zone);
  const words = text.split(/\s+/).filter((word) => word !== '');
  const terms: SearchTerm[] = [];
  const unread: string[] = words.slice(maxWords);
  for (const word of words.slice(0, maxWords)) {
    const found = readTime(word, now, dayOf) ?? readNamed(word, now, dayOf) ?? readWord(word);
    if (found.length === 0) unread.push(word);
    terms.push(...found.map(([kind, value]) => ({ kind, value, typed: word })));
  }
  const reason = findReason(unread);
  if (reason !== undefined)
    return { terms: [...terms, { kind: 'reason', value: reason, typed: unread.join(' ') }], unread: [] };
  const [start, ...others] = unread;
  const isStart = start !== undefined && addressStart.test(start) && others.length === 0;
  if (!isStart || terms.some(({ kind }) => kind === 'address')) return { terms, unread };
  return { terms: [...terms, { kind: 'address-start', value: start, typed: start }], unread: [] };
}

/** The only reason in whose text or code these words stand together: `not trusted`. */
function findReason(words: readonly string[]): FailureReason | undefined {
  if (words.length === 0) return undefined;
  const wanted = words.map((word) => word.toLowerCase()).join(' ');
  const codes = Object.keys(failureReasons) as FailureReason[];
  const fitting = codes.filter((code) => {
    const texts = [failureReasons[code].text.toLowerCase(), code];
    return texts.some((text) => ` ${text.match(/[a-z']+/g)?.join(' ')} `.includes(` ${wanted} `));
  });
  return fitting.length === 1 ? fitting[0] : fitting.find((code) => code === wanted.replaceAll(' ', '-'));
}

/** True for a term that also has the form of the beginning of an address. */
export const mayBeginAddress = ({ kind, typed }: SearchTerm): boolean =>
  ['domain', 'id-start', 'request-id'].includes(kind) && addressStart.test(typed);

type Reading = readonly (readonly [SearchTermKind, string])[];
type DayReader = (word: string) => DaySpan | undefined;

function readTime(word: string, now: Date, dayOf: DayReader): Reading | undefined {
  const ago = /^([<>])-?(\d{1,5})([mhdw])$/.exec(word);
  if (ago !== null) {
    const at = new Date(now.getTime() - Number(ago[2]) * unitMs[ago[3] as keyof typeof unitMs]);
    return [[ago[1] === '<' ? 'since' : 'until', at.toISOString()]];
  }
  const day = dayOf(word);
  if (day === undefined) return undefined;
  return [
    ['since', day.start.toISOString()],
    ['until', day.end.toISOString()],
  ];
}

function readNamed(word: string, now: Date, dayOf: DayReader): Reading | undefined {
  const [, name, value = ''] = named.exec(word) ?? [];
  switch (name) {
    case undefined:
      return undefined;
    case 'client':
      return [['client', value]];
    case 'request':
      return [['request-id', value]];
    case 'state':
      return isState(value) ? [['state', value]] : [];
    case 'reason':
      return isFailureReason(value) ? [['reason', value]] : [];
    default: {
      const day = dayOf(value);
      const ago = readTime(`<${value}`, now, dayOf)?.[0]?.[1];
      const moment = readInstant(value)?.toISOString();
      const at = (name === 'since' ? day?.start : day?.end)?.toISOString() ?? ago ?? moment;
      return at === undefined ? [] : [[name as 'since' | 'until', at]];
    }
  }
}

function readWord(word: string): Reading {
  if (uuid.test(word.replace(/^urn:uuid:/i, ''))) return [['message-id', word.toLowerCase()]];
  const inner = /^<(.+@.+)>$/.exec(word)?.[1];
  if (inner !== undefined) return [['wire-id', inner]];
  if (word.startsWith('@'))
    return isQualifiedDomain(word.slice(1)) ? [['domain', word.slice(1).toLowerCase()]] : [];
  if (word.includes('@')) {
    if (uuid.test(word.slice(0, word.lastIndexOf('@')))) return [['wire-id', word]];
    // A Message-ID of another HISP need not be an address.
    return [[findDirectAddress(word) === undefined ? 'wire-id' : 'address', word]];
  }
  const lower = word.toLowerCase();
  if (isState(lower)) return [['state', lower]];
  if (isFailureReason(lower)) return [['reason', lower]];
  const [, start] = idStart.exec(word) ?? [];
  if (start !== undefined) return [['id-start', start.toLowerCase()]];
  if (/^hisp-[0-9a-f]{24}$/.test(word)) return [['client', word]];
  if (word.includes('.') && isQualifiedDomain(word)) return [['domain', word.toLowerCase()]];
  return requestId.test(word) ? [['request-id', word]] : [];
}

const isState = (text: string): boolean =>
  recipientStates.some((state) => state === text) || text === 'received' || text === 'acknowledged';
