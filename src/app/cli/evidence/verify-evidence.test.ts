import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { test } from 'node:test';
import { readPeerKey } from '../../../../test/peer-messages/peer-files.ts';
import { signEntity } from '../../../lib/smime/index.ts';
import { evidenceType } from '../../../service/messaging/index.ts';
import { verifyEvidence } from './verify-evidence.ts';

const at = '2026-11-22T10:00:00.000Z';
const [alice, bob] = [readPeerKey('alice'), readPeerKey('bob')];
const wireMessageId = '<1@direct.alpha.example>';
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

interface SignedMdn {
  readonly fields?: readonly string[];
  readonly header?: readonly string[];
  readonly signer?: typeof bob;
}

/** Evidence of one message to Bob, with such an MDN. */
function evidenceWith({ fields = [], header = [], signer = bob }: SignedMdn): string {
  const mdn = [
    ...header,
    'Content-Type: multipart/report; report-type=disposition-notification; boundary=b',
    '',
    '--b',
    'Content-Type: message/disposition-notification',
    '',
    ...fields,
    `Original-Message-ID: ${wireMessageId}`,
    'Disposition: automatic-action/MDN-sent-automatically;processed',
    '--b--',
    '',
  ].join('\r\n');
  const payload = base64url({
    type: 'direct-delivery-evidence',
    version: 1,
    createdTime: at,
    fromDirectAddress: 'alice@direct.alpha.example',
    wireMessageId,
    result: [
      {
        toDirectAddress: 'bob@direct.beta.example',
        status: 'processed',
        statusTime: at,
        attempts: [],
        mdns: [
          {
            receivedTime: at,
            signerPath: [signer.certificate.fingerprint],
            signerCertificates: [''],
            signedMdn: signEntity(Buffer.from(mdn), [signer], { at: new Date(at) }).toString('base64'),
          },
        ],
      },
    ],
  });
  const x5c = [Buffer.from(alice.certificate.der).toString('base64')];
  const head = base64url({ typ: evidenceType, alg: 'RS256', x5c });
  const signature = sign('sha256', Buffer.from(`${head}.${payload}`), alice.privateKey).toString('base64url');
  return JSON.stringify({ protected: head, payload, signature });
}

const problemsOf = async (mdn: SignedMdn): Promise<readonly string[]> =>
  (await verifyEvidence(evidenceWith(mdn))).problems;

test('an MDN is about the recipient that Final-Recipient or Original-Recipient names, or else its signer', async () => {
  const alias = 'Final-Recipient: rfc822;b.smith@inner.beta.example';
  const original = 'Original-Recipient: rfc822;bob@direct.beta.example';
  assert.deepEqual(await problemsOf({ fields: ['Final-Recipient: rfc822;bob@direct.beta.example'] }), []);
  assert.deepEqual(await problemsOf({ fields: [alias, original] }), []);
  assert.deepEqual(await problemsOf({}), []);
  assert.match((await problemsOf({ fields: [alias] }))[0] ?? '', /not about bob@direct\.beta\.example/);
});

test('an MDN without Final-Recipient is about its sender, although its signer speaks for the whole domain', async () => {
  const signer = readPeerKey('beta-org');
  const from = (local: string): string => `From: ${local}@direct.beta.example`;
  assert.deepEqual(await problemsOf({ header: [from('bob')], signer }), []);
  assert.deepEqual(
    await problemsOf({ header: [from('carol'), from('bob').replace('From', 'Sender')], signer }),
    [],
  );
  const [problem] = await problemsOf({ header: [from('carol')], signer });
  assert.match(problem ?? '', /not about bob@direct\.beta\.example/);
});
