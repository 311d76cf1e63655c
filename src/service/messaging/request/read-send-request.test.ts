import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { processorMs } from '../../../../test/support/processor-time.ts';
import { fc } from '../../../../test/support/fast-check.ts';
import { parseDirectAddress } from '../../../lib/values/index.ts';
import { defaultSettings } from '../../../platform/index.ts';
import { contentMatches, deriveFileName, hasDeniedExtension, isProgram } from './attachment-types.ts';
import { MessagingError } from '../errors.ts';
import { createProblems } from '../problems.ts';
import { readRecipients } from './read-recipients.ts';
import { readSendRequest } from './read-send-request.ts';
import { flagFields, hasLoincCheckDigit, textFields } from './send-fields.ts';

const options = {
  limits: { ...defaultSettings.messaging, maxAttachmentBytes: 2000 },
  now: new Date('2026-11-21T12:00:00Z'),
};

const names = [
  'fromDirectAddress',
  'toDirectAddress',
  'messageId',
  'emailAttachmentList',
  ...textFields.map(({ name }) => name),
  ...flagFields.map(({ name }) => name),
  'other',
];
const anything = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    'a@b.example',
    '20240229',
    '1.2.3',
    'M',
    'MA',
    '02139',
    '34133-9',
    'X^^1.2',
    true,
    '',
    null,
  ),
);
const attachment = fc.dictionary(
  fc.constantFrom('attachmentClass', 'attachmentContent', 'attachmentTitle', 'attachmentFileName', 'x'),
  fc.oneof(anything, fc.constantFrom('text/xml', 'PGEvPg==')),
);

describe('reading a send request', () => {
  it('any JSON value is either a request or refused with named fields, never anything else', () => {
    const body = fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(anything, fc.array(attachment, { maxLength: 4 })),
    );
    fc.assert(
      fc.property(fc.oneof(body, fc.jsonValue()), (value) => {
        try {
          const request = readSendRequest(value, options);
          assert.ok(request.to.length > 0 && request.from.includes('@'));
        } catch (error) {
          assert.ok(error instanceof MessagingError, String(error));
          assert.ok(
            error.problems.length > 0 &&
              error.problems.every(
                ({ field, reason, detail }) => (field !== '' || reason === 'unknown') && detail !== '',
              ),
          );
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('accepts no line break in one-line texts, titles or file names', () => {
    const line = fc.string({ unit: fc.constantFrom('a', ' ', '\r', '\n', '\0', 'é', '\t'), maxLength: 8 });
    fc.assert(
      fc.property(line, line, line, (messageSubject, attachmentTitle, attachmentFileName) => {
        const body = {
          fromDirectAddress: 'a@b.example',
          toDirectAddress: 'c@d.example',
          messageSubject,
          emailAttachmentList: [
            {
              attachmentClass: 'text/xml',
              attachmentContent: 'PGEvPg==',
              attachmentTitle,
              attachmentFileName,
            },
          ],
        };
        try {
          const { texts, attachments } = readSendRequest(body, options);
          for (const text of [texts.messageSubject, attachments[0]?.title, attachments[0]?.fileName])
            assert.doesNotMatch(text ?? '', /[\r\n\0]/);
        } catch (error) {
          assert.ok(
            error instanceof MessagingError &&
              [messageSubject, attachmentTitle, attachmentFileName].some((text) => /[\r\n\0\t]/.test(text)),
          );
        }
      }),
      { numRuns: 500 },
    );
  });

  it('a list of addresses reads the same in every form', () => {
    const local = fc.stringMatching(/^[a-z0-9]{1,8}$/);
    fc.assert(
      fc.property(
        fc.uniqueArray(local, { minLength: 1, maxLength: 10 }),
        fc.constantFrom(',', ';', ' , ', ';\t'),
        (locals, separator) => {
          const addresses = locals.map((name) => parseDirectAddress(`${name}@direct.example.org`));
          for (const value of [
            addresses,
            addresses.join(separator),
            [...addresses, ...addresses.map((address) => address.toUpperCase())],
          ]) {
            const problems = createProblems();
            assert.deepEqual([readRecipients(value, 50, problems), problems.found], [addresses, []]);
          }
        },
      ),
    );
  });

  it('a blank message id counts as absent, and blanks around one are dropped', () => {
    const id = 'urn:uuid:6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11';
    const read = (messageId: unknown) =>
      readSendRequest(
        { fromDirectAddress: 'a@b.example', toDirectAddress: 'c@d.example', messageBody: 'x', messageId },
        options,
      ).messageId;
    for (const blank of [undefined, null, '', '  ', '\n']) assert.equal(read(blank), undefined);
    for (const given of [id, ` ${id}\n`, id.toUpperCase()]) assert.equal(read(given), id);
    for (const faulty of [5, {}, 'urn:uuid:', `urn:uuid: ${id.slice(9)}`, id.slice(9)])
      assert.throws(() => read(faulty), MessagingError);
  });

  it('lists many faults but not endlessly', () => {
    const body = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field${index}`, 1]));
    assert.throws(
      () => readSendRequest(body, options),
      (error) => error instanceof MessagingError && error.problems.length === 100,
    );
  });

  it('unknown names are cut', () => {
    assert.throws(
      () => readSendRequest({ ['x'.repeat(5000)]: 1 }, options),
      (error) => error instanceof MessagingError && error.problems.every(({ field }) => field.length <= 100),
    );
  });

  it('control characters and broken Unicode are refused', () => {
    const fault = (messageBody: string) => {
      try {
        readSendRequest(
          { fromDirectAddress: 'a@b.example', toDirectAddress: 'c@d.example', messageBody },
          options,
        );
        return '';
      } catch (error) {
        return error instanceof MessagingError ? (error.problems[0]?.reason ?? '') : 'other';
      }
    };
    assert.deepEqual(
      ['a\tb\r\nc', 'a\0b', 'a\u0007b', 'a\u007fb', 'a\ud800b', 'x'.repeat(1_000_001)].map(fault),
      ['', 'control_character', 'control_character', 'control_character', 'invalid', 'too_long'],
    );
  });
});

describe('attachment types', () => {
  it('a program is known by its first bytes, a text that begins alike is none', () => {
    const binary = (head: string) => Buffer.concat([Buffer.from(head, 'hex'), Buffer.alloc(100)]);
    for (const head of ['4d5a9000', '7f454c46', 'feedfacf', 'cffaedfe'])
      assert.ok(isProgram(binary(head)), head);
    assert.ok(!isProgram(Buffer.from(`MZ ${'and so on '.repeat(20)}`)));
    assert.ok(!isProgram(Buffer.from('MZ')));
  });
  it('file endings are compared without case and trailing blanks', () => {
    for (const name of ['a.exe', 'A.BAT', 'report.pdf.js', 'x.ps1 ', 'a.exe.', 'a.exe. . ', 'a.exe::$DATA'])
      assert.ok(hasDeniedExtension(name), name);
    for (const name of ['a.xml', 'exe', 'a.exe.txt', '']) assert.ok(!hasDeniedExtension(name), name);
  });
  it('a hostile file name takes no more time than another one of its length', async () => {
    for (const name of [`${'. '.repeat(100_000)}x`, `x${'. '.repeat(100_000)}`]) {
      const tookMs = await processorMs(() => {
        assert.ok(!hasDeniedExtension(name));
        const body = {
          fromDirectAddress: 'a@b.example',
          toDirectAddress: 'c@d.example',
          emailAttachmentList: [
            { attachmentClass: 'text/plain', attachmentContent: 'eA==', attachmentFileName: name },
          ],
        };
        assert.throws(
          () => readSendRequest(body, options),
          (error) =>
            error instanceof MessagingError &&
            error.problems.map(({ field, reason }) => `${field} ${reason}`).join() ===
              'emailAttachmentList[0].attachmentFileName too_long',
        );
      });
      // A quadratic search takes 20 s.
      assert.ok(tookMs < 2000, `${tookMs} ms`);
    }
  });
  it('unknown types are not compared with the content', () => {
    assert.ok(contentMatches('application/x-own', Buffer.from([0])));
    assert.equal(deriveFileName('application/x-own', 3), 'attachment-3.bin');
    assert.equal(deriveFileName('application/hl7-sda+xml', 1), 'attachment-1.xml');
  });
});

describe('META-09: LOINC check digits', () => {
  it('follow Mod 10', () => {
    for (const code of ['34133-9', '11488-4', '18842-5', '57133-1', '1-8'])
      assert.ok(hasLoincCheckDigit(code), code);
    for (const code of ['34133-8', '11488-5']) assert.ok(!hasLoincCheckDigit(code), code);
  });
});
