import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectParts, findBodyText, parseEntity } from '../../../lib/mime/index.ts';
import { defaultSettings } from '../../../platform/index.ts';
import type { MessageUrn } from '../../../lib/values/index.ts';
import { readSendRequest } from '../request/read-send-request.ts';
import { composeMessage } from './compose-message.ts';

const attachment = (name: string) => ({
  attachmentClass: 'application/pdf',
  attachmentContent: Buffer.from('%PDF-1.4').toString('base64'),
  attachmentFileName: name,
});

async function compose(fields: Record<string, unknown>) {
  const at = new Date('2026-11-21T12:00:00Z');
  const body = {
    fromDirectAddress: 'a@direct.alpha.example',
    toDirectAddress: 'b@direct.beta.example',
    ...fields,
  };
  return parseEntity(
    await composeMessage({
      request: readSendRequest(body, { limits: defaultSettings.messaging, now: at }),
      messageId: 'urn:uuid:00000000-0000-4000-8000-000000000001' as MessageUrn,
      wireId: '<00000000-0000-4000-8000-000000000001@direct.alpha.example>',
      requestsFinalDelivery: false,
      identity: { hostname: 'hisp.alpha.example', sourceOid: '1.3.6.1.4.1.21367.1' },
      at,
    }),
  );
}

const one = [attachment('a.pdf')];
const two = [...one, attachment('b.pdf')];
for (const [name, fields, text] of [
  ['one attachment', { emailAttachmentList: one }, 'The document is attached.'],
  [
    'one attachment and a blank text',
    { emailAttachmentList: one, messageBody: ' \n' },
    'The document is attached.',
  ],
  ['two attachments', { emailAttachmentList: two }, 'The documents are attached.'],
  ['a package', { emailAttachmentList: one, xdm: true }, 'The documents are in the attached package (XDM).'],
  ['an attachment and a text', { emailAttachmentList: one, messageBody: 'Hello' }, 'Hello'],
  ['a summary only', { emailAttachmentList: one, patient_summary: 'Stable' }, 'Stable'],
  ['a text only', { messageBody: 'Hello' }, 'Hello'],
] as const) {
  test(`a message has a text part first: ${name}`, async () => {
    const entity = await compose(fields);
    const parts = collectParts(entity);
    assert.equal(findBodyText(entity, parts), parts[0]);
    assert.equal(parts[0]?.text(), text);
    const attachments =
      'emailAttachmentList' in fields ? ('xdm' in fields ? 1 : fields.emailAttachmentList.length) : 0;
    assert.equal(parts.length, 1 + attachments);
    assert.equal(entity.contentType.mediaType, attachments === 0 ? 'text/plain' : 'multipart/mixed');
  });
}
