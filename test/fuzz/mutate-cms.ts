import { readAsn1, type Asn1 } from '../../src/lib/asn1/index.ts';

/** Contents up to this size are altered bit by bit; longer ones at both ends and in places between. */
const smallContent = 24;

/** Every offset whose change alters the structure itself or the value of a small element. */
export function structuralOffsets(bytes: Uint8Array): number[] {
  const offsets = new Set<number>();
  visit(readAsn1(bytes), (node) => {
    for (let at = node.start; at < node.contentStart; at++) offsets.add(at);
    for (let at = node.contentEnd; at < node.end; at++) offsets.add(at);
    if (node.isConstructed) return;
    const size = node.contentEnd - node.contentStart;
    const step = size <= smallContent ? 1 : Math.ceil(size / 6);
    for (let at = node.contentStart; at < node.contentEnd; at += step) offsets.add(at);
    if (size > 0) offsets.add(node.contentEnd - 1);
  });
  return [...offsets].toSorted((a, b) => a - b);
}

function visit(node: Asn1, use: (node: Asn1) => void): void {
  use(node);
  for (const child of node.children) visit(child, use);
}

export function withByte(bytes: Uint8Array, at: number, value: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at] = value;
  return changed;
}

/** A number below `limit`. */
export type Pick = (limit: number) => number;

/** One random change: bits, bytes, cuts, insertions, elements doubled, dropped, exchanged or taken from another seed. */
export function mutate(bytes: Buffer, other: Buffer, pick: Pick): Buffer {
  const changes = [flipBit, setByte, cut, insert, exchangeElements, dropElement, doubleElement, graftElement];
  const change = changes[pick(changes.length)] ?? flipBit;
  return change(bytes, pick, other);
}

function flipBit(bytes: Buffer, pick: Pick): Buffer {
  const at = pick(Math.max(bytes.length, 1));
  return withByte(bytes, at, (bytes[at] ?? 0) ^ (1 << pick(8)));
}

const tellingBytes = [0, 1, 0x7f, 0x80, 0x81, 0x84, 0xff, 0x30, 0x31, 0x24, 0xa0];

function setByte(bytes: Buffer, pick: Pick): Buffer {
  return withByte(bytes, pick(Math.max(bytes.length, 1)), tellingBytes[pick(tellingBytes.length)] ?? 0);
}

function cut(bytes: Buffer, pick: Pick): Buffer {
  const from = pick(bytes.length + 1);
  const to = Math.min(bytes.length, from + 1 + pick(40));
  return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
}

function insert(bytes: Buffer, pick: Pick): Buffer {
  const at = pick(bytes.length + 1);
  const added = Buffer.from(Array.from({ length: 1 + pick(8) }, () => pick(256)));
  return Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at)]);
}

function exchangeElements(bytes: Buffer, pick: Pick): Buffer {
  const elements = elementsOf(bytes);
  const one = elements[pick(Math.max(elements.length, 1))];
  const two = elements[pick(Math.max(elements.length, 1))];
  if (one === undefined || two === undefined) return bytes;
  return replace(bytes, one, bytes.subarray(two.start, two.end));
}

function dropElement(bytes: Buffer, pick: Pick): Buffer {
  const elements = elementsOf(bytes);
  const one = elements[pick(Math.max(elements.length, 1))];
  return one === undefined ? bytes : replace(bytes, one, Buffer.alloc(0));
}

function doubleElement(bytes: Buffer, pick: Pick): Buffer {
  const elements = elementsOf(bytes);
  const one = elements[pick(Math.max(elements.length, 1))];
  if (one === undefined) return bytes;
  const copy = bytes.subarray(one.start, one.end);
  return replace(bytes, one, Buffer.concat([copy, copy]));
}

function graftElement(bytes: Buffer, pick: Pick, other: Buffer): Buffer {
  const elements = elementsOf(bytes);
  const grafts = elementsOf(other);
  const one = elements[pick(Math.max(elements.length, 1))];
  const graft = grafts[pick(Math.max(grafts.length, 1))];
  if (one === undefined || graft === undefined) return bytes;
  return replace(bytes, one, other.subarray(graft.start, graft.end));
}

function elementsOf(bytes: Buffer): Asn1[] {
  const elements: Asn1[] = [];
  try {
    visit(readAsn1(bytes, { allowTrailing: true, maxNodes: 2000 }), (node) => elements.push(node));
  } catch {
    // Already broken by an earlier change: only its bytes can be altered further.
  }
  return elements;
}

/** Puts other bytes in an element's place and sets the lengths around it right again, so that the change is reached. */
function replace(bytes: Buffer, target: Asn1, replacement: Uint8Array): Buffer {
  const root = readAsn1(bytes, { allowTrailing: true, maxNodes: 2000 });
  return rebuild(root, target.start, target.end, replacement);
}

function rebuild(node: Asn1, start: number, end: number, replacement: Uint8Array): Buffer {
  if (node.start === start && node.end === end) return Buffer.from(replacement);
  const whole = Buffer.from(node.source.subarray(node.start, node.end));
  if (end <= node.start || start >= node.end || !node.isConstructed) return whole;
  const content = Buffer.concat(node.children.map((child) => rebuild(child, start, end, replacement)));
  const tag = node.source.subarray(node.start, node.start + 1);
  if (node.end !== node.contentEnd) return Buffer.concat([tag, Buffer.of(0x80), content, Buffer.alloc(2)]);
  return Buffer.concat([tag, lengthOf(content.length), content]);
}

function lengthOf(size: number): Buffer {
  if (size < 0x80) return Buffer.of(size);
  return Buffer.of(0x83, (size >> 16) & 0xff, (size >> 8) & 0xff, size & 0xff);
}
