import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { CodedError } from '../../../core/index.ts';
import { parseEntity, collectParts } from '../../../lib/mime/index.ts';
import { startTestHttp, type TestHttp } from '../../../../test/messaging/start-http.ts';
import { alice, base64, newUrn, sendBody } from '../../../../test/messaging/start-messaging.ts';
import { largeBytes, UnparsedJson } from '../index.ts';

let world: TestHttp;
before(async () => {
  world = await startTestHttp();
});
after(() => world.close());

const attach = (content: Uint8Array, fileName = 'a.bin'): Record<string, unknown> => ({
  attachmentClass: 'application/octet-stream',
  attachmentContent: base64(content),
  attachmentFileName: fileName,
});
const unparsed = (body: unknown): UnparsedJson => new UnparsedJson(Buffer.from(JSON.stringify(body)));
const send = (body: unknown) => world.messaging.send(world.clinic, body, {});
const sentContents = (): Buffer[] =>
  collectParts(parseEntity(world.deliveries.at(-1)?.message ?? new Uint8Array()))
    .filter((part) => part.fileName !== undefined)
    .map((part) => part.content());

describe('a large body', () => {
  it('is read as a small one is: the same message, the same answer, and the same repetition', async () => {
    const contents = [randomBytes(2 * largeBytes), randomBytes(100)];
    const body = sendBody({
      messageId: newUrn(),
      messageSubject: 'Größe',
      emailAttachmentList: [attach(contents[0] as Buffer), attach(contents[1] as Buffer, 'b.bin')],
    });
    const first = await send(unparsed(body));
    assert.deepEqual(sentContents(), contents);
    const again = await send(body);
    assert.deepEqual([again.isReplay, again.json], [true, first.json]);
    const other = { ...body, messageSubject: 'another' };
    await assert.rejects(send(unparsed(other)), { code: 'MESSAGING_ID_REUSED' });
  });

  it('may hold line breaks and escapes in its base64', async () => {
    const content = randomBytes(2 * largeBytes);
    const lines = base64(content).replaceAll(/.{76}/g, '$&\r\n');
    const json = JSON.stringify(
      sendBody({ emailAttachmentList: [{ ...attach(content), attachmentContent: lines }] }),
    );
    await send(new UnparsedJson(Buffer.from(json.replaceAll('/', '\\/'))));
    assert.deepEqual(sentContents(), [content]);
  });

  it('can be sent as a package', async () => {
    const content = randomBytes(2 * largeBytes);
    await send(unparsed(sendBody({ xdm: true, emailAttachmentList: [attach(content)] })));
    const [zip] = sentContents();
    assert.equal(zip?.subarray(0, 2).toString(), 'PK');
    assert.ok((zip?.length ?? 0) > content.length);
  });

  const faults: readonly (readonly [what: string, changes: Record<string, unknown>])[] = [
    [
      'no sender, an unknown field, bad base64',
      {
        fromDirectAddress: '',
        wrong: 1,
        emailAttachmentList: [{ ...attach(Buffer.of(1)), attachmentContent: '*' }],
      },
    ],
    ['a program', { emailAttachmentList: [attach(Buffer.from('MZ\u0090 program'.repeat(10)))] }],
    ['too much', { emailAttachmentList: [attach(Buffer.alloc(27_000_000))] }],
    ['a prototype', JSON.parse('{"__proto__":{"xdm":true}}') as Record<string, unknown>],
  ];
  for (const [what, changes] of faults)
    it(`with faults is refused with the same text: ${what}`, async () => {
      const json = JSON.stringify({ ...sendBody(), ...changes, ...('__proto__' in changes ? changes : {}) });
      const body: unknown = JSON.parse(json);
      const errorOf = async (given: unknown): Promise<unknown[]> => {
        try {
          await send(given);
        } catch (error) {
          assert.ok(error instanceof CodedError);
          return [error.code, error.kind, error.publicMessage, error.isTransient, error.problems];
        }
        return ['sent'];
      };
      assert.deepEqual(await errorOf(new UnparsedJson(Buffer.from(json))), await errorOf(body));
    });

  it('that is no JSON is refused in the words of the HTTP edge, which name the place', async () => {
    const refusalOf = async (text: string): Promise<unknown> => {
      const { status, body } = await world.call('POST', '/messaging/dirmsg/send_ccda', {
        body: text,
        headers: { 'content-type': 'application/json' },
      });
      assert.equal(status, 400);
      return body.errors;
    };
    const refusalAt = (place: string): unknown => [
      { field: '', reason: 'malformed', detail: `The body is not JSON${place}.` },
    ];
    const long = 'x'.repeat(2 * largeBytes);
    assert.deepEqual(await refusalOf('{"a":"x'), refusalAt(' (line 1, column 8)'));
    assert.deepEqual(await refusalOf(`{"a":"${long}`), refusalAt(` (line 1, column ${long.length + 7})`));
    for (const text of ['{"a":', `{"a":"${long}","b":`])
      assert.deepEqual(await refusalOf(text), refusalAt(''));
  });

  it('over HTTP: accepted by send up to its limit, refused by every other route', async () => {
    const content = randomBytes(5 * largeBytes + 1);
    const taken = await world.call('POST', '/messaging/dirmsg/send_ccda', {
      body: sendBody({ emailAttachmentList: [attach(content)] }),
    });
    assert.equal(taken.status, 200, taken.text);
    assert.deepEqual(sentContents(), [content]);
    const tooLarge = await world.call('POST', '/messaging/dirmsg/send_ccda', {
      body: sendBody({ messageBody: 'x'.repeat(60_000_000) }),
    });
    assert.equal(tooLarge.status, 413);
    const elsewhere = await world.call('POST', '/messaging/dirmsg/status', {
      body: { messageIds: ['x'.repeat(2 * largeBytes)] },
    });
    assert.equal(elsewhere.status, 413);
  });
});

describe('a large received message', () => {
  it('is fetched whole, as JSON and by attachment', async () => {
    const content = randomBytes(3 * largeBytes + 7);
    await send(
      unparsed(
        sendBody({ toDirectAddress: alice, messageBody: 'Grüße', emailAttachmentList: [attach(content)] }),
      ),
    );
    const inner = world.deliveries.at(-1)?.message ?? new Uint8Array();
    await world.receive({ from: alice, to: [alice], inner });
    const [entry] = (await world.messaging.listInbox(world.clinic, {})).messages;
    const path = `/messaging/dirmsg/inbox/${entry?.messageId}`;
    const fetched = await world.call('GET', path);
    assert.equal(fetched.status, 200);
    assert.equal(fetched.headers.get('content-length'), String(fetched.bytes.length));
    const { status, messageBody, emailAttachmentList } = fetched.body as unknown as {
      status: string;
      messageBody: string;
      emailAttachmentList: Record<string, string>[];
    };
    assert.deepEqual([status, messageBody.trim()], ['OK', 'Grüße']);
    assert.deepEqual(emailAttachmentList, [
      {
        attachmentClass: 'application/octet-stream',
        attachmentCharset: '',
        attachmentContent: base64(content),
        attachmentFileName: 'a.bin',
        attachmentTitle: '',
        attachmentContentId: '',
        attachmentInline: false,
        attachmentSize: String(content.length),
        attachmentHash: createHash('sha256').update(content).digest('hex'),
        attachmentTypeCode: '',
        attachmentTypeCodeText: '',
      },
    ]);
    assert.ok((await world.call('GET', `${path}/attachments/0`)).bytes.equals(content));
    assert.equal((await world.call('GET', `${path}/attachments/1`)).status, 404);
    const packed = (await world.call('GET', `${path}?xdm=true`)).body as unknown as { xdm: boolean };
    assert.equal(packed.xdm, true);
  });
});
