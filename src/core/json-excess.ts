import type { FieldProblem } from './errors.ts';

/** What a JSON body may hold. No body of the API has a tenth of it. */
export interface JsonLimits {
  readonly maxDepth: number;
  /** Names of members of all objects together. */
  readonly maxNames: number;
  /** Values of any type, names included. */
  readonly maxValues: number;
  readonly maxNameBytes: number;
  /** Of a number or word: JavaScript's longest number has 25. */
  readonly maxLiteralBytes: number;
}

export const jsonLimits: JsonLimits = {
  maxDepth: 32,
  maxNames: 5000,
  maxValues: 20_000,
  maxNameBytes: 256,
  maxLiteralBytes: 400,
};

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const [space, tab, lineFeed, carriageReturn] = [0x20, 0x09, 0x0a, 0x0d];

/**
 * Finds what would cost memory and time out of proportion to a JSON text, by one pass over its octets that
 * keeps nothing: JSON.parse makes 2.7 GB of 39 MB of `[`. A text that is not JSON is counted in the same way,
 * and left to the parser.
 */
export function findJsonExcess(json: Buffer, limits: JsonLimits = jsonLimits): FieldProblem | undefined {
  let [depth, names, values, literal] = [0, 0, 0, 0];
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case openBrace:
      case openBracket:
        literal = 0;
        values++;
        if (++depth > limits.maxDepth) return tooDeep(limits);
        break;
      case closeBrace:
      case closeBracket:
        literal = 0;
        depth--;
        break;
      case quote: {
        const end = findStringEnd(json, at + 1);
        if (isName(json, end)) {
          if (end - at - 1 > limits.maxNameBytes) return excess('too_long', nameTooLong(limits));
          if (++names > limits.maxNames) return excess('too_many', tooMany(limits.maxNames, 'names'));
        }
        literal = 0;
        values++;
        at = end;
        break;
      }
      case comma:
      case colon:
      case space:
      case tab:
      case lineFeed:
      case carriageReturn:
        literal = 0;
        break;
      default:
        if (literal++ === 0) values++;
        if (literal > limits.maxLiteralBytes) return excess('too_long', literalTooLong(limits));
    }
    if (values > limits.maxValues) return excess('too_many', tooMany(limits.maxValues, 'values'));
  }
  return undefined;
}

function findStringEnd(json: Buffer, from: number): number {
  for (let at = json.indexOf(quote, from); at >= 0; at = json.indexOf(quote, at + 1)) {
    let first = at;
    while (first > from && json[first - 1] === backslash) first--;
    if ((at - first) % 2 === 0) return at;
  }
  return json.length;
}

function isName(json: Buffer, end: number): boolean {
  let at = end + 1;
  while (json[at] === space || json[at] === tab || json[at] === lineFeed || json[at] === carriageReturn) at++;
  return json[at] === colon;
}

function excess(reason: string, detail: string): FieldProblem {
  return { field: '', reason, detail };
}

function tooDeep({ maxDepth }: JsonLimits): FieldProblem {
  return excess('too_deep', `The body has arrays or objects more than ${maxDepth} levels deep.`);
}

function tooMany(limit: number, what: string): string {
  return `The body has more than ${limit} ${what}.`;
}

function nameTooLong({ maxNameBytes }: JsonLimits): string {
  return `The body has a name of more than ${maxNameBytes} bytes.`;
}

function literalTooLong({ maxLiteralBytes }: JsonLimits): string {
  return `The body has a number or word of more than ${maxLiteralBytes} bytes.`;
}
