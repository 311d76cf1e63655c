/** Settings that requirements ask for, on a whole HISP: the default, and what changes with them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { demoAddress, domains } from '../../src/app/dev/index.ts';
import { createStaticZone } from '../../src/lib/dns/index.ts';
import { formatDate } from '../../src/lib/mime/index.ts';
import { formatPem, readCertificate } from '../../src/lib/pki/index.ts';
import { encryptEntity } from '../../src/lib/smime/index.ts';
import { sendMail } from '../../src/lib/smtp/index.ts';
import { opensslSkip } from '../interop/openssl-cms.ts';
import { soaOf } from '../support/soa.ts';
import { openTestSandbox, waitFor, type TestSandbox } from '../system/sandbox-fixture.ts';

const domain = 'direct.older.example';
const peer = `nurse@${domain}`;
const forms = [
  { name: 'wrapped', isWrapped: true, digest: 'sha256' },
  { name: 'not wrapped', isWrapped: false, digest: 'sha256' },
  { name: 'signed with SHA-1', isWrapped: true, digest: 'sha1' },
] as const;

/** Sends a message of each form; `received`, or the reason of its rejection. */
async function receiveAll({ sandbox, folder }: TestSandbox): Promise<Record<string, string>> {
  const { authority, hisp, smtpPort } = sandbox.world;
  const file = (name: string) => path.join(folder, name);
  const pair = await authority.issue({ domain });
  await writeFile(file('peer.pem'), formatPem('CERTIFICATE', pair.certificate.der));
  await writeFile(file('peer.key'), pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const [own] = await hisp.trust.findPublished(domains.own);
  const certificate = readCertificate(own ?? new Uint8Array());

  async function sign(entity: string, digest: string): Promise<Buffer> {
    await writeFile(file('entity'), entity);
    const keys = ['-signer', file('peer.pem'), '-inkey', file('peer.key')];
    const files = ['-in', file('entity'), '-out', file('signed')];
    const { status, stderr } = spawnSync(
      'openssl',
      ['cms', '-sign', ...keys, '-md', digest, '-crlfeol', ...files],
      { encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    return readFile(file('signed'));
  }

  async function outcomeOf(messageId: string): Promise<string | undefined> {
    await hisp.audit.flush();
    const rows = await hisp.audit.find({ limit: 1_000 });
    const received = rows.find(
      ({ action, objects }) => action === 'message.receive' && objects['messageId'] === messageId,
    );
    if (received !== undefined) return 'received';
    // Mail that was not opened has no name in its row.
    const rejected = rows.filter(
      ({ action, objects }) => action === 'message.reject' && objects['from'] === peer,
    );
    return rejected.length > rejections ? String(rejected[0]?.objects['reason']) : undefined;
  }

  let rejections = 0;
  const outcomes: Record<string, string> = {};
  for (const [index, { name, isWrapped, digest }] of forms.entries()) {
    const messageId = `<${index}@${domain}>`;
    const header = `From: ${peer}\r\nTo: ${demoAddress}\r\nDate: ${formatDate(new Date())}\r\nMessage-ID: ${messageId}\r\n`;
    const text = 'Content-Type: text/plain\r\n\r\nGood morning.\r\n';
    const entity = isWrapped
      ? `Content-Type: message/rfc822\r\n\r\n${header}MIME-Version: 1.0\r\n${text}`
      : text;
    const message = encryptEntity(await sign(entity, digest), [{ certificate }], {
      prefix: Buffer.from(`${header}MIME-Version: 1.0\r\n`),
    });
    const { accepted } = await sendMail({
      host: '127.0.0.2',
      port: smtpPort,
      hostname: `mx.${domain}`,
      mailFrom: peer,
      recipients: [demoAddress],
      message,
      timeoutMs: 10_000,
    });
    assert.deepEqual(accepted, [demoAddress]);
    outcomes[name] = (await waitFor(
      () => outcomeOf(messageId),
      (outcome) => outcome !== undefined,
    )) as string;
    if (outcomes[name] !== 'received') rejections++;
  }
  return outcomes;
}

const cases = [
  {
    title: 'VER-02, AS-52: by default a message needs no wrapper, but not SHA-1',
    settings: {},
    expected: {
      wrapped: 'received',
      'not wrapped': 'received',
      'signed with SHA-1': 'SMIME_DIGEST_NOT_ALLOWED',
    },
  },
  {
    title: 'VER-02, AS-52: each switch changes its rule and no other',
    settings: { 'trust.requiresWrapping': 'true', 'trust.acceptsSha1Signatures': 'true' },
    expected: {
      wrapped: 'received',
      'not wrapped': 'DIRECT_NOT_WRAPPED',
      'signed with SHA-1': 'received',
    },
  },
] as const;

describe('the receiving policy', { skip: opensslSkip() }, () => {
  for (const { title, settings, expected } of cases)
    it(title, async () => {
      const world = await openTestSandbox(settings);
      try {
        assert.deepEqual(await receiveAll(world), expected);
      } finally {
        await world.close();
      }
    });
});

describe('the search for certificates', () => {
  it('DISC-11: has a time limit for one address; what is not found until then is undecided', async () => {
    const slow = 'direct.slow.example';
    const checks: unknown[] = [];
    for (const settings of [{}, { 'trust.discoveryTimeoutMs': '500' }]) {
      const { sandbox, client, close } = await openTestSandbox(settings);
      try {
        const zone = createStaticZone(slow, [soaOf(slow)]);
        sandbox.world.publish({
          name: slow,
          async findRecords(name) {
            // Less than the time limit of one query.
            if (name !== slow) await delay(1_500);
            return zone.findRecords(name);
          },
        });
        const answer = (await client.post('/messaging/dirmsg/validate', {
          fromDirectAddress: demoAddress,
          toDirectAddress: `someone@${slow}`,
        })) as { result: readonly { certificate: boolean | null; reason: string }[] };
        checks.push(...answer.result.map(({ certificate, reason }) => [certificate, reason]));
      } finally {
        await close();
      }
    }
    assert.deepEqual(checks, [
      [false, 'no-certificate'],
      [null, 'undecided'],
    ]);
  });
});
