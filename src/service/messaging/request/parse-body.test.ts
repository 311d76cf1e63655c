import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { fc } from '../../../../test/support/fast-check.ts';
import { CodedError } from '../../../core/index.ts';
import { hashRequest } from './hash-request.ts';
import { Base64Content, parseBody } from './parse-body.ts';

const long = randomBytes(40_000);
const text = long.toString('base64');
const attach = (attachmentContent: unknown): Record<string, unknown> => ({ attachmentContent });
const asBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Contents as texts again. */
function asTexts(value: unknown): unknown {
  if (value instanceof Base64Content) {
    assert.equal(value.content.toString('base64'), Buffer.from(value.text).toString('latin1'));
    return Buffer.from(value.text).toString('latin1');
  }
  if (Array.isArray(value)) return value.map(asTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asTexts(member)]));
}

function contentsOf(value: unknown): readonly unknown[] {
  const { emailAttachmentList } = value as { emailAttachmentList: Record<string, unknown>[] };
  return emailAttachmentList.map((entry) => entry['attachmentContent']);
}

describe('a body with long contents', () => {
  test('holds them decoded, in memory that can be given to a thread', () => {
    const body = { a: 'ü"\\', emailAttachmentList: [attach(text), attach('aGk='), attach(text)] };
    const parsed = parseBody(asBytes(body));
    const [first, second, third] = contentsOf(parsed);
    assert.ok(first instanceof Base64Content && third instanceof Base64Content);
    assert.ok(first.content.equals(long));
    assert.equal(first.content.buffer.byteLength, long.length);
    assert.equal(second, 'aGk=');
    assert.deepEqual(asTexts(parsed), body);
  });

  test('has the hash of the same body with texts', async () => {
    for (const size of [20_000, 600_000]) {
      const body = { emailAttachmentList: [attach(randomBytes(size).toString('base64'))], b: 'ü' };
      const parsed = parseBody(asBytes(body));
      assert.ok(contentsOf(parsed)[0] instanceof Base64Content);
      assert.equal(await hashRequest('client', parsed), await hashRequest('client', body));
    }
  });

  const elsewhere: readonly (readonly [what: string, body: unknown])[] = [
    ['another field', { messageBody: text, emailAttachmentList: [attach(text)] }],
    ['another member of the attachment', { emailAttachmentList: [{ attachmentTitle: text }] }],
    ['a list', { emailAttachmentList: [attach([text])] }],
    ['another list', { list: [attach(text)] }],
    ['no object', [text]],
    ['no value around it', text],
    ['a field named as the path', { 'emailAttachmentList[0]': attach(text) }],
  ];
  for (const [what, body] of elsewhere)
    test(`keeps a base64 text as text in ${what}`, () => assert.deepEqual(parseBody(asBytes(body)), body));

  for (const [what, odd] of [
    ['line breaks', text.replaceAll(/.{76}/g, '$&\r\n')],
    ['the URL-safe alphabet', `-_${text.slice(2)}`],
    ['padding in the middle', `${text.slice(0, 20_000)}====${text.slice(20_000)}`],
    ['no padding', `${text}AA`],
    ['trailing bits', `${'A'.repeat(20_000)}AAF=`],
    ['other characters', `${text.slice(4)}é***`],
  ] as const)
    test(`keeps a text with ${what} as text`, () => {
      const body = { emailAttachmentList: [attach(odd)] };
      assert.deepEqual(parseBody(asBytes(body)), body);
    });

  test('is read like any JSON, whatever stands around them', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, isPlaced) => {
        const body = { [isPlaced ? 'emailAttachmentList' : 'list']: [attach(text), value], value };
        assert.deepEqual(asTexts(parseBody(asBytes(body))), JSON.parse(JSON.stringify(body)));
      }),
      { numRuns: 200 },
    );
  });
});

describe('a body with a fault', () => {
  const valid = asBytes({ emailAttachmentList: [attach(text)], a: 'b' }).toString();
  const fieldOf = (json: Uint8Array): string => {
    try {
      parseBody(json);
    } catch (error) {
      assert.ok(error instanceof CodedError && error.code === 'MESSAGING_REQUEST_INVALID');
      const [problem] = error.problems ?? [];
      return `${problem?.field} ${problem?.reason}`;
    }
    return 'accepted';
  };

  test('is refused and its field is named', () => {
    assert.equal(fieldOf(asBytes({ emailAttachmentList: [attach(text), { [text]: 1 }] })), ' too_long');
    assert.equal(fieldOf(Buffer.from(valid.replace('"a":', '"a":1,"a":'))), 'a duplicate');
    const twice = valid.replace('{"attachmentContent"', '{"attachmentContent":"QUJD","attachmentContent"');
    assert.equal(fieldOf(Buffer.from(twice)), 'emailAttachmentList[0].attachmentContent duplicate');
    assert.equal(fieldOf(Buffer.from(valid.replace('"b"', '"\u00ff"'), 'latin1')), 'a not_utf8');
    assert.equal(fieldOf(Buffer.from(valid.replace('"b"', String.raw`"\ud800"`))), 'a not_utf8');
    const cut = [
      valid.slice(0, -1),
      valid.slice(0, 1000),
      valid.replace('"a"', 'a'),
      `"${valid}`,
      `${valid}"`,
    ];
    for (const json of [...cut, valid.replace(text, `${text.slice(0, 20_000)}\n${text.slice(20_000)}`)])
      // A text that has lost its quotation mark is also too long for what stands without any.
      assert.match(fieldOf(Buffer.from(json)), /^ (?:malformed|too_long)$/);
    assert.equal(fieldOf(Buffer.from(valid)), 'accepted');
  });

  test('with any byte changed, inserted or left out, is accepted exactly if it is JSON', () => {
    const json = Buffer.from(valid);
    const places = fc.oneof(
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: json.length - 40, max: json.length - 1 }),
      fc.nat(json.length - 1),
    );
    fc.assert(
      fc.property(
        places,
        fc.constantFrom(...Buffer.from('"\\{}[],:a\n=-\u0000')),
        fc.nat(2),
        (at, byte, kind) => {
          const piece = kind === 2 ? [] : [byte];
          const changed = Buffer.concat([
            json.subarray(0, at),
            Uint8Array.from(piece),
            json.subarray(kind === 1 ? at : at + 1),
          ]);
          let expected: unknown;
          try {
            expected = JSON.parse(changed.toString());
          } catch {
            assert.notEqual(fieldOf(changed), 'accepted');
            return;
          }
          if (fieldOf(changed) === 'accepted') assert.deepEqual(asTexts(parseBody(changed)), expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});
