import assert from 'node:assert/strict';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { findResourceId, type Span } from './passes.ts';
import { parseResource } from './fhir.ts';
import { readOriginal } from './read-original.ts';
import { scanLines } from './scan-lines.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'openhisp-npd-'));
});
after(() => rm(folder, { recursive: true, maxRetries: 5 }));

async function* piecesOf(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function linesOf(pieces: AsyncIterable<Buffer>, maxBytes?: number): Promise<[number, string][]> {
  const lines: [number, string][] = [];
  const onLine = (bytes: Buffer, start: number, end: number, line: number): void =>
    void lines.push([line, bytes.toString('utf8', start, end)]);
  for await (const count of scanLines(pieces, onLine, maxBytes)) assert.ok(count >= lines.length);
  return lines;
}

describe('lines', () => {
  test('are the same wherever the pieces end; empty ones are counted and left out', async () => {
    const text = 'first\n\nthird ü\nfourth\n\n\nseventh';
    const expected = [
      [1, 'first'],
      [3, 'third ü'],
      [4, 'fourth'],
      [7, 'seventh'],
    ];
    for (let size = 1; size <= text.length + 2; size++)
      assert.deepEqual(await linesOf(piecesOf(text, size)), expected, `pieces of ${size}`);
  });

  test('longer than the limit end the reading before they are in memory', async () => {
    let given = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (;;) {
        given += 1000;
        yield Buffer.alloc(1000, 'x');
      }
    }
    await assert.rejects(linesOf(endless(), 10_000), {
      code: 'DIRECTORY_FILE_BROKEN',
      message: /Line 1 is longer/,
    });
    assert.ok(given <= 12_000, `${given} bytes were read`);
  });
});

describe('the content of a file', () => {
  const text = 'line\n'.repeat(300_000);
  const zstd = (part: string): Buffer => zstdCompressSync(part);

  async function read(bytes: Uint8Array, originalBytes = text.length): Promise<string> {
    const file = path.join(folder, 'file');
    await writeFile(file, bytes);
    const pieces: Buffer[] = [];
    let reported = 0;
    for await (const piece of readOriginal(file, originalBytes, (count) => (reported += count)))
      pieces.push(piece);
    assert.equal(reported, bytes.length);
    return Buffer.concat(pieces).toString();
  }

  test('is unpacked by its first bytes, several frames too', async () => {
    const skippable = Buffer.concat([Buffer.of(0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0), Buffer.alloc(2)]);
    const forms = {
      plain: Buffer.from(text),
      gzip: gzipSync(text),
      zstd: zstd(text),
      frames: Buffer.concat([zstd(text.slice(0, 500_000)), zstd(text.slice(500_000))]),
      skippable: Buffer.concat([skippable, zstd(text)]),
    };
    for (const [form, bytes] of Object.entries(forms)) assert.equal((await read(bytes)) === text, true, form);
  });

  test('that is cut off, damaged or followed by something else is refused', async () => {
    for (const packed of [zstd(text), gzipSync(text)]) {
      const cut = packed.subarray(0, packed.length - 10);
      await assert.rejects(read(cut), { code: 'DIRECTORY_FILE_BROKEN' });
      const damaged = Buffer.from(packed);
      damaged.fill(0x55, packed.length >> 1, (packed.length >> 1) + 20);
      await assert.rejects(read(damaged), { code: 'DIRECTORY_FILE_BROKEN' });
      await assert.rejects(read(Buffer.concat([packed, Buffer.from('trailing')])), {
        code: 'DIRECTORY_FILE_BROKEN',
      });
    }
  });

  test('of another size than stated is refused, a bomb before it is unpacked', async () => {
    await assert.rejects(read(zstd(text), text.length + 1), { code: 'DIRECTORY_RELEASE_PARTIAL' });
    await assert.rejects(read(Buffer.from(text), text.length + 1), { code: 'DIRECTORY_RELEASE_PARTIAL' });
    await assert.rejects(read(new Uint8Array(), 1), { code: 'DIRECTORY_RELEASE_PARTIAL' });
    const file = path.join(folder, 'bomb');
    await writeFile(file, zstdCompressSync(Buffer.alloc(300_000_000)));
    let bytes = 0;
    await assert.rejects(
      async () => {
        for await (const piece of readOriginal(file, 5_000_000, () => {})) bytes += piece.length;
      },
      { code: 'DIRECTORY_RELEASE_PARTIAL', message: /more than 5000000/ },
    );
    assert.ok(bytes <= 5_000_000);
    await truncate(file, 0);
  });
});

describe('the id at the beginning of a line', () => {
  const find = (line: string): string | undefined => {
    const bytes = Buffer.from(`before${line}after`);
    const span: Span = { start: 0, end: 0 };
    const found = findResourceId(bytes, 6, bytes.length - 5, span);
    return found ? bytes.toString('latin1', span.start, span.end) : undefined;
  };

  test('is found without parsing, for every order of the short members', () => {
    assert.equal(find('{"resourceType":"Practitioner","id":"a-1","x":1}'), 'a-1');
    assert.equal(find(' { "id" : "a-2" , "resourceType":"Practitioner"}'), 'a-2');
    assert.equal(find('{"language":"en","implicitRules":"x","id":"a-3"}'), 'a-3');
    assert.equal(find('{"id":""}'), '');
  });

  test('is left to the parser where something else stands before it', () => {
    const lines = [
      '{"meta":{"id":"wrong"},"id":"a"}',
      '{"identifier":[{"id":"wrong"}],"id":"a"}',
      '{"a":"\\"","id":"a"}',
      '{"a":1,"id":"a"}',
      `{"a":"${'x'.repeat(500)}","id":"a"}`,
      '{"id":7}',
      '{"id":"unended',
      '["id","a"]',
      '{}',
      '{"other":"x"}',
      'id',
      '',
    ];
    for (const line of lines) assert.equal(find(line), undefined, line);
  });
});

describe('a line of an outsider', () => {
  const parse = (text: string): unknown =>
    parseResource(Buffer.from(text), 0, Buffer.byteLength(text), 'Endpoint');

  test('that is not such a resource is none', () => {
    const lines = [
      '',
      'x',
      '3',
      'null',
      '[]',
      '"Endpoint"',
      '{}',
      '{"resourceType":"Location"}',
      '{"resourceType":["Endpoint"]}',
    ];
    for (const line of lines) assert.equal(parse(line), undefined, line);
    assert.notEqual(parse('{"resourceType":"Endpoint"}'), undefined);
  });

  test('that is nested deeply costs no more than reading it', () => {
    const before = process.cpuUsage();
    for (const open of ['[', '{"a":']) {
      const line = `{"resourceType":"Endpoint","a":${open.repeat(15_000_000 / open.length)}`;
      assert.equal(parse(line), undefined);
    }
    const closed = `{"resourceType":"Endpoint","a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`;
    assert.equal(parse(closed), undefined);
    // Of the processor, which others may use meanwhile.
    assert.ok(process.cpuUsage(before).user < 5_000_000);
    const texts = JSON.stringify({ resourceType: 'Endpoint', a: `"[{\\${'[{'.repeat(60_000)}` });
    assert.notEqual(parse(texts), undefined, 'brackets in texts are no depth');
  });

  test('that holds more than an organization with a hundred thousand endpoints is none', () => {
    const list = (item: string, count: number): string =>
      `{"resourceType":"Endpoint","a":[${`${item},`.repeat(count)}0]}`;
    assert.notEqual(parse(list('{"reference":"Endpoint/1"}', 100_000)), undefined);
    assert.equal(parse(list('[]', 1_000_000)), undefined);
    assert.equal(parse(list('{"a":0}', 400_001)), undefined);
    assert.equal(parse(list(`{"${'n'.repeat(257)}":0}`, 1000)), undefined);
  });

  test('changes nothing by odd names', () => {
    const parsed = parse('{"resourceType":"Endpoint","__proto__":{"status":"active"},"constructor":1}');
    assert.equal((parsed as { status?: unknown }).status, undefined);
    assert.equal(({} as { status?: unknown }).status, undefined);
  });
});
