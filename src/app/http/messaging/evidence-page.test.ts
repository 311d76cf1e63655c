import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority, createKeyPair } from '../../../lib/pki/index.ts';
import { formatEvidencePage } from './evidence-page.ts';

const hostile = `<script>alert("1")</script>'&`;

test('the page shows each fact as text: remote text cannot become markup', async () => {
  const keys = await createKeyPair({ curve: 'P-256' });
  const validity = { notBefore: new Date('2026-01-01'), notAfter: new Date('2046-01-01') };
  const { der } = createAuthority({ subject: [['CN', `Signer ${hostile}`]], ...keys, ...validity });
  const document = {
    type: 'direct-delivery-evidence',
    version: 1,
    createdTime: '2026-11-22T09:30:00.000Z',
    messageId: `urn:uuid:${hostile}`,
    wireMessageId: `<${hostile}@x>`,
    fromDirectAddress: hostile,
    acceptedTime: hostile,
    result: [
      {
        toDirectAddress: hostile,
        status: 'processed',
        statusTime: hostile,
        reason: hostile,
        statusCode: hostile,
        history: [{ time: hostile, event: hostile, status: hostile, reason: hostile, diagnostic: hostile }],
        attempts: [
          {
            time: hostile,
            durationMs: 5,
            host: hostile,
            address: hostile,
            tls: hostile,
            reply: hostile,
            outcome: hostile,
            code: hostile,
            sentSha256: hostile,
            certificates: [{ to: hostile, fingerprint: hostile }],
          },
        ],
        mdns: [
          { receivedTime: hostile, signerPath: [hostile], signerCertificates: [hostile], signedMdn: 'AAAA' },
        ],
      },
    ],
  };
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const page = formatEvidencePage({
    payload: encode(document),
    protected: encode({ alg: 'ES256', x5c: [Buffer.from(der).toString('base64')] }),
    signature: '',
  });
  assert.doesNotMatch(page, /<script|alert\("/);
  assert.ok(page.split('&lt;script&gt;').length > 20);
  const tags = new Set([...page.matchAll(/<\/?([a-z0-9]+)/g)].map(([, name]) => name));
  for (const name of tags)
    assert.match(name ?? '', /^(html|head|meta|title|style|body|h1|h2|table|caption|tr|th|td|p|code)$/);
});
