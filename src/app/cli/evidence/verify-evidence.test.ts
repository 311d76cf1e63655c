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

/** Evidence of one message to Bob, with an MDN that has these fields and is signed by Bob. */
function evidenceWith(...fields: readonly string[]): string {
  const mdn = [
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
            signerPath: [bob.certificate.fingerprint],
            signerCertificates: [''],
            signedMdn: signEntity(Buffer.from(mdn), [bob], { at: new Date(at) }).toString('base64'),
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

const problemsOf = async (...fields: readonly string[]): Promise<readonly string[]> =>
  (await verifyEvidence(evidenceWith(...fields))).problems;

test('an MDN is about the recipient that Final-Recipient or Original-Recipient names, or else its signer', async () => {
  const alias = 'Final-Recipient: rfc822;b.smith@inner.beta.example';
  assert.deepEqual(await problemsOf('Final-Recipient: rfc822;bob@direct.beta.example'), []);
  assert.deepEqual(await problemsOf(alias, 'Original-Recipient: rfc822;bob@direct.beta.example'), []);
  assert.deepEqual(await problemsOf(), []);
  assert.match((await problemsOf(alias))[0] ?? '', /not about bob@direct\.beta\.example/);
});
