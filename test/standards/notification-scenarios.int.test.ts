/**
 * The 7 notification scenarios of DirectTrust's testing tools, rebuilt at the REST edge: an outside HISP answers, answers late or not at all,
 * and the edge gets one final outcome each, once (MDN-24 to MDN-28).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createOutsideZone, demoAddress, domains, mailHosts, partners } from '../../src/app/dev/index.ts';
import { openMessage, sealMessage } from '../../src/lib/direct/index.ts';
import { buildDsn, buildMdn } from '../../src/lib/mdn/index.ts';
import { parseEntity } from '../../src/lib/mime/index.ts';
import { readCertificate, type Certificate } from '../../src/lib/pki/index.ts';
import { sendMail } from '../../src/lib/smtp/index.ts';
import type { SigningKey } from '../../src/lib/smime/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../src/lib/values/index.ts';
import { openTestSandbox, readStatus, send, waitFor, type TestSandbox } from '../system/sandbox-fixture.ts';

const toolDomain = 'direct.tool.example';
const addressOf = (local: string): DirectAddress => parseDirectAddress(`${local}@${toolDomain}`);

interface FullStatus {
  readonly result: readonly {
    readonly status: string;
    readonly reason: string;
    readonly statusCode: string;
    readonly history: readonly { readonly event: string; readonly status: string; readonly late: boolean }[];
  }[];
}

const finalStates: readonly string[] = ['failed', 'expired', 'dispatched'];

describe('the notification scenarios of the public tools', { concurrency: true }, () => {
  let world: TestSandbox;
  let toolKey: SigningKey;
  let ownCertificate: Certificate;

  before(async () => {
    // Nine seconds, where the tools have an hour.
    world = await openTestSandbox({
      'messaging.processedWindowMinutes': '0.15',
      'messaging.dispatchedWindowMinutes': '0.15',
    });
    const { authority, publish, hisp } = world.sandbox.world;
    toolKey = await authority.issue({ domain: toolDomain });
    publish(
      createOutsideZone({ domain: toolDomain, mailHost: mailHosts.silent, certificate: toolKey.certificate }),
    );
    const [own] = await hisp.trust.findPublished(domains.own);
    ownCertificate = readCertificate(own ?? new Uint8Array());
  });
  after(() => world.close());

  const sendTo = (to: DirectAddress, requestFinalDelivery = false): Promise<string> =>
    send(world.client, {
      fromDirectAddress: demoAddress,
      toDirectAddress: to,
      messageBody: 'Hello',
      requestFinalDelivery,
    });

  /** Waits for the message to `address` as the tool's mail server took it, and gives its Message-ID. */
  async function arrivedAt(address: DirectAddress): Promise<string> {
    const mail = await waitFor(
      () => world.sandbox.world.silentMail.find((one) => one.recipients.includes(address)),
      (found) => found !== undefined,
    );
    const { inner } = openMessage({ message: mail?.message ?? new Uint8Array(), keys: [toolKey] });
    return parseEntity(inner).header('message-id') ?? '';
  }

  async function answer(from: DirectAddress, mdn: Uint8Array): Promise<void> {
    const { message } = sealMessage({
      message: mdn,
      signers: [toolKey],
      recipients: [{ address: demoAddress, certificates: [ownCertificate] }],
      at: new Date(),
    });
    await sendMail({
      host: '127.0.0.2',
      port: world.sandbox.world.smtpPort,
      hostname: `mx.${toolDomain}`,
      mailFrom: from,
      recipients: [demoAddress],
      message,
      timeoutMs: 10_000,
    });
  }

  async function answerMdn(from: DirectAddress, disposition: 'processed' | 'dispatched'): Promise<void> {
    const originalMessageId = await arrivedAt(from);
    const mdn = buildMdn({
      disposition,
      finalRecipient: from,
      originalSender: demoAddress,
      originalMessageId,
      reportingUa: { host: toolDomain, product: 'tool' },
      date: new Date(),
      messageId: `<${disposition}-${from}>`,
      isFinalDelivery: disposition === 'dispatched',
    });
    await answer(from, mdn);
  }

  const statusOf = async (id: string): Promise<FullStatus> =>
    (await readStatus(world.client, id)) as unknown as FullStatus;

  async function finalStatus(id: string, wanted: string): Promise<FullStatus['result'][number]> {
    const { result } = await waitFor(
      () => statusOf(id),
      (answered) => answered.result[0]?.status === wanted,
      40,
    );
    const [recipient] = result;
    assert.ok(recipient);
    const finals = recipient.history.filter((entry) => finalStates.includes(entry.status) && !entry.late);
    assert.equal(new Set(finals.map((entry) => entry.status)).size, 1, 'one final outcome');
    return recipient;
  }

  it('MDN-27: NoPublishedCertificate fails at once', async () => {
    const { reason, statusCode } = await finalStatus(await sendTo(partners.noCertificate), 'failed');
    assert.deepEqual([reason, statusCode], ['no-certificate', '5.7.31']);
  });

  it('MDN-27: Untrusted fails at once', async () => {
    const { reason, statusCode } = await finalStatus(await sendTo(partners.untrusted), 'failed');
    assert.deepEqual([reason, statusCode], ['untrusted', '5.7.11']);
  });

  it('MDN-28: BadAddress is the failure that the far side reports', async () => {
    const bad = addressOf('bad-address');
    const id = await sendTo(bad);
    const originalMessageId = await arrivedAt(bad);
    const dsn = buildDsn({
      reportingMta: `mx.${toolDomain}`,
      from: bad,
      to: demoAddress,
      date: new Date(),
      messageId: `<dsn@${toolDomain}>`,
      originalMessageId,
      recipients: [{ finalRecipient: bad, action: 'failed', status: '5.1.1' }],
    });
    await answer(bad, dsn);
    const { statusCode } = await finalStatus(id, 'failed');
    assert.equal(statusCode, '5.1.1');
  });

  it('MDN-25: NoProcessedMDN expires after the window', async () => {
    const { reason, statusCode } = await finalStatus(await sendTo(addressOf('no-processed')), 'expired');
    assert.deepEqual([reason, statusCode], ['no-processed-mdn', '5.4.71']);
  });

  it('MDN-25: NoDispatchedMDN expires, though the message was processed', async () => {
    const address = addressOf('no-dispatched');
    const id = await sendTo(address, true);
    await answerMdn(address, 'processed');
    const { reason, statusCode } = await finalStatus(id, 'expired');
    assert.deepEqual([reason, statusCode], ['no-dispatched-mdn', '5.4.72']);
  });

  it('MDN-26: DelayedDispatchedMDN changes nothing after the failure was reported; the history keeps it', async () => {
    const address = addressOf('delayed');
    const id = await sendTo(address, true);
    await answerMdn(address, 'processed');
    await finalStatus(id, 'expired');
    await answerMdn(address, 'dispatched');
    const { result } = await waitFor(
      () => statusOf(id),
      (answered) => answered.result[0]?.history.some((entry) => entry.late) === true,
    );
    assert.equal(result[0]?.status, 'expired');
  });

  it('MDN-24: GoodHeader is dispatched, with the MDNs in any order', async () => {
    for (const order of [['processed', 'dispatched'] as const, ['dispatched', 'processed'] as const]) {
      const address = addressOf(`good-${order[0]}-first`);
      const id = await sendTo(address, true);
      for (const disposition of order) await answerMdn(address, disposition);
      await finalStatus(id, 'dispatched');
    }
  });
});
