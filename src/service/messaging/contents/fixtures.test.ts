import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fixturesDir, needsFixtures } from '../../../../test/support/fixtures.ts';
import {
  alice,
  anna,
  sendBody,
  readPayload,
  startTestMessaging,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import type { InboundPayload } from './inbound-payload.ts';

const folder = (name: string) => path.join(fixturesDir() ?? '', name);
const files = (name: string, pattern: RegExp) =>
  readdirSync(folder(name), { recursive: true, encoding: 'utf8' })
    .filter((file) => pattern.test(file))
    .map((file) => path.join(folder(name), file));

describe('payloads of others come through byte for byte', needsFixtures(), () => {
  let world: TestMessaging;
  before(async () => {
    world = await startTestMessaging();
  });
  after(() => world.close());

  /** Sends a file from alice, hands the composed message in for anna, and reads it from her inbox. */
  async function carry(
    content: Buffer,
    attachmentClass: string,
    xdm: { send: boolean; read: boolean },
  ): Promise<InboundPayload> {
    const attachment = {
      attachmentClass,
      attachmentContent: content.toString('base64'),
      attachmentFileName: attachmentClass === 'application/zip' ? 'a.zip' : 'a.xml',
    };
    await world.messaging.send(
      world.clinic,
      sendBody({ toDirectAddress: anna, emailAttachmentList: [attachment], xdm: xdm.send }),
      {},
    );
    await world.receive({
      from: alice,
      to: [anna],
      inner: world.deliveries.findLast(({ kind }) => kind === 'message')?.message ?? '',
    });
    const [entry] = (await world.messaging.listInbox(world.clinic, { limit: 1 })).messages;
    const payload = await readPayload(world, world.clinic, entry?.messageId ?? '', xdm.read, {});
    await world.messaging.acknowledge(world.clinic, entry?.messageId ?? '', {});
    return payload;
  }

  it('C-CDA documents, loose and packed', async () => {
    const documents = files('ccda', /\.xml$/i);
    assert.ok(documents.length >= 5);
    for (const file of documents) {
      const content = readFileSync(file);
      for (const send of [false, true]) {
        const { emailAttachmentList } = await carry(content, 'text/xml', { send, read: false });
        assert.equal(emailAttachmentList.length, 1, file);
        assert.ok(
          content.equals(Buffer.from(emailAttachmentList[0]?.attachmentContent ?? '', 'base64')),
          `${file} packed: ${send}`,
        );
      }
    }
  });

  it('XDM-12, AS-81: XDM packages of the Edge Testing Tool, unchanged as packages, and opened into documents', async () => {
    const packages = files('reference-data/ett/cda-samples', /\.zip$/i);
    assert.ok(packages.length >= 10);
    for (const file of packages) {
      const content = readFileSync(file);
      const packed = await carry(content, 'application/zip', { send: true, read: true });
      assert.ok(
        content.equals(Buffer.from(packed.emailAttachmentList[0]?.attachmentContent ?? '', 'base64')),
        file,
      );
      const opened = await carry(content, 'application/zip', { send: false, read: false });
      assert.ok(opened.emailAttachmentList.length >= 1, file);
      assert.ok(
        opened.emailAttachmentList.every((entry) => entry.attachmentClass !== 'application/zip'),
        file,
      );
    }
  });
});
