import { foldText } from '../../core/index.ts';

/** Longer words count by their beginning: bytes of ASCII text, otherwise UTF-16 units. */
export const maxWordLength = 32;
/** Words of one text; further ones are not found. */
export const maxWordsOfText = 64;

/** Room for the words of one text: the letters and digits of all of them, and where each begins and ends. */
export interface WordRoom<Codes extends Uint8Array | Uint16Array = Uint8Array | Uint16Array> {
  readonly codes: Codes;
  readonly spans: Uint32Array;
  /** For each code in `codes` where it was in the text, if that is wanted. */
  readonly origins?: Uint32Array;
}

/**
 * How words of a text are joined: `name` also as one word over the whole text (`de la Cruz`), `domain` not at
 * all, and in a `query` each word stands once.
 */
export type WordStyle = 'name' | 'text' | 'domain' | 'query';

const isOther = 0;
const isWordCode = 1;
const isApostrophe = 2;
const isJoiner = 3;

// Of folded text, so that there are no combining marks.
const classes = Uint8Array.from({ length: 0x10000 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/['’‘‛`´ʹʻʼʽ′＇]/.test(character)) return isApostrophe;
  if (code >= 0xd800 && code <= 0xdfff) return isWordCode;
  if (/[\p{L}\p{N}]/u.test(character)) return isWordCode;
  return /[-./_‐-―−﹘﹣－]/.test(character) ? isJoiner : isOther;
});

/**
 * Puts the words of a folded text into `room` and returns their number. A word is a run of letters and
 * digits; an apostrophe inside it does not end it. What follows an apostrophe is also a word if it is longer
 * than two letters (`O'Brien`), and so are words that one hyphen or dot joins, as one (`Garcia-Lopez`), and a
 * telephone number, whatever is between its parts.
 */
export function splitWords(
  text: Uint8Array | Uint16Array,
  from: number,
  to: number,
  style: WordStyle,
  { codes, spans, origins }: WordRoom,
): number {
  let count = 0;
  let end = 0;
  let words = 0;
  let chunkStart = 0;
  let chunkWords = 0;
  // Of the two words before.
  let lastLengths = 0;
  const most = Math.min(maxWordsOfText, spans.length / 2);
  const emit = (first: number, last: number): void => {
    if (count === most) return;
    spans[count * 2] = first;
    spans[count * 2 + 1] = Math.min(last, first + maxWordLength);
    count++;
  };
  const isJoining = style === 'name' || style === 'text';
  const endChunk = (): void => {
    if (isJoining && chunkWords > 1 && chunkWords <= mostJoined && end - chunkStart <= maxWordLength)
      emit(chunkStart, end);
    chunkWords = 0;
  };
  let at = from;
  while (at < to) {
    if (classes[text[at] as number] !== isWordCode) {
      at++;
      continue;
    }
    // One joiner right between two words keeps the chunk.
    if (chunkWords > 0 && !(classes[text[at - 1] as number] === isJoiner && isWordEnd(text, at - 2, from))) {
      endChunk();
      chunkStart = end;
    }
    const start = end;
    let part = end;
    for (; at < to; at++) {
      const kind = classes[text[at] as number];
      if (kind === isWordCode) {
        codes[end] = text[at] as number;
        if (origins !== undefined) origins[end] = at;
        end++;
      } else if (kind === isApostrophe && at + 1 < to && classes[text[at + 1] as number] === isWordCode) {
        part = end;
      } else break;
    }
    emit(start, end);
    if (style !== 'query' && part > start && end - part > 2) emit(part, end);
    words++;
    chunkWords++;
    if (!isJoining) continue;
    // As a query has it (`parseWords`).
    if (end - start === 4 && lastLengths === 0x303 && areDigits(codes, end - 10, end)) emit(end - 10, end);
    lastLengths = ((lastLengths << 8) | Math.min(end - start, 0xff)) & 0xffff;
  }
  const isOneChunk = chunkWords === words;
  endChunk();
  if (style === 'name' && !isOneChunk && words <= mostJoined && end <= maxWordLength) emit(0, end);
  return count;
}

function areDigits(codes: Uint8Array | Uint16Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (!isDigit(codes[at] as number)) return false;
  return true;
}

function isWordEnd(text: Uint8Array | Uint16Array, at: number, from: number): boolean {
  return at >= from && classes[text[at] as number] === isWordCode;
}

const mostJoined = 4;

/** A word of a shown text, folded, and where it is in the text: UTF-16 units. */
export interface TextWord {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The words of a text as it is shown. */
export function wordsOf(text: string, style: WordStyle): TextWord[] {
  const { folded, origins } = foldWithOrigins(text);
  const room = {
    codes: new Uint16Array(folded.length),
    spans: new Uint32Array(maxWordsOfText * 2),
    origins: new Uint32Array(folded.length),
  };
  const count = splitWords(folded, 0, folded.length, style, room);
  return Array.from({ length: count }, (_, word) => {
    const [start, end] = [room.spans[word * 2] as number, room.spans[word * 2 + 1] as number];
    const last = origins[room.origins[end - 1] as number] as number;
    return {
      text: String.fromCharCode(...room.codes.subarray(start, end)),
      start: origins[room.origins[start] as number] as number,
      end: last + ((text.codePointAt(last) ?? 0) > 0xffff ? 2 : 1),
    };
  });
}

function foldWithOrigins(text: string): { folded: Uint16Array; origins: number[] } {
  const folded: number[] = [];
  const origins: number[] = [];
  let at = 0;
  for (const character of text) {
    const plain = foldText(character);
    for (let index = 0; index < plain.length; index++) {
      folded.push(plain.charCodeAt(index));
      origins.push(at);
    }
    at += character.length;
  }
  return { folded: Uint16Array.from(folded), origins };
}

/** Where the words of a specialty begin: a coded value shows its code and its name, not the code system. */
export function startOfSpecialty(text: Uint8Array | Uint16Array, from: number, to: number): number {
  let at = from;
  while (at < to && ((text[at] as number) === 0x2e || isDigit(text[at] as number))) at++;
  if (at === from || text[at] !== 0x3a) return from;
  for (let next = at + 1; next < to; next++) if (text[next] === 0x3a) return next + 1;
  return from;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
