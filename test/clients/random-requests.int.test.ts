/** Random requests made of the API document: no answer is a fault of the service, and each is one that the document describes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { demoAddress, partners } from '../../src/app/dev/index.ts';
import { createDocumentCheck } from '../support/document-check.ts';
import { makeRequests, type RandomRequest, type RequestOperation } from '../support/random-requests.ts';
import { rounds } from '../support/rounds.ts';
import { seed } from '../support/fast-check.ts';
import { send, waitFor } from '../system/sandbox-fixture.ts';
import { openDocumentWorld, type DocumentWorld } from './document-world.ts';

const perKind = Number(process.env['OPENHISP_TEST_REQUESTS'] ?? rounds(25, 8));

/** Faults that a request cannot have whose types, lengths and names are those of the document. */
const contradictions: ReadonlySet<string> = new Set([
  'unknown',
  'wrong_type',
  'too_long',
  'too_many',
  'out_of_range',
  'malformed',
]);

interface Hook {
  readonly webhook: { readonly id: string };
}
interface Inbox {
  readonly result: readonly { readonly messageId: string }[];
}

let world: DocumentWorld;
let known: Record<string, readonly unknown[]>;

before(async () => {
  world = await openDocumentWorld({
    'messaging.sendsPerSecond': '1000',
    'messaging.sendsBurst': '1000',
    'directory.requestsPerSecond': '1000',
    'directory.requestsBurst': '1000',
    'oauth.tokensPerSecond': '1000',
    'oauth.tokensBurst': '1000',
  });
  const { client } = world;
  const messageId = await send(client, {
    fromDirectAddress: demoAddress,
    toDirectAddress: partners.processed,
    messageBody: 'Hello',
  });
  const hook = (await client.post('/messaging/webhooks', { url: 'https://edge.example.org/hook' })) as Hook;
  const inbox = await waitFor(
    async () => (await client.get('/messaging/dirmsg/inbox')) as Inbox,
    ({ result }) => result.length > 0,
  );
  known = {
    messageId: [messageId, inbox.result[0]?.messageId],
    messageIds: [[messageId]],
    webhookId: [hook.webhook.id],
    fromDirectAddress: [demoAddress],
    toDirectAddress: [partners.processed, [partners.processed, demoAddress]],
    grant_type: ['client_credentials'],
    scope: ['messaging.api'],
    attachmentContent: ['PGE+PC9hPg=='],
    position: [0],
  };
});
after(() => world.close());

describe('requests made of the API document', () => {
  it('are all answered as it says', async () => {
    const check = createDocumentCheck(world.document);
    const { clientId, clientSecret } = world.sandbox.credentials;
    const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    const token = await fetch(`${world.baseUrl}/oauth2/direct/v1/token`, {
      method: 'POST',
      headers: { authorization: basic },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: accessToken } = (await token.json()) as { access_token: string };
    const faults: string[] = [];
    let answered = 0;

    async function ask(request: RandomRequest): Promise<void> {
      const isOauth = request.path.startsWith('/oauth2/');
      const answer = await fetch(world.baseUrl + request.path, {
        method: request.method,
        headers: {
          authorization: isOauth ? basic : `Bearer ${accessToken}`,
          ...(request.mediaType !== undefined && { 'content-type': request.mediaType }),
        },
        ...(request.body !== undefined && { body: request.body }),
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const { status, headers } = answer;
      const { method, path } = request;
      const found = (problem: string): void =>
        void faults.push(`${method} ${path} ${request.body ?? ''} → ${status} ${problem}`.slice(0, 1000));
      if (status >= 500) found(bytes.toString());
      try {
        check({ method, path, status, headers, bytes });
      } catch (error) {
        found((error as Error).message);
      }
      if (status < 300) answered++;
      if (request.isDescribed && status === 400 && !isOauth)
        for (const { field, reason } of (JSON.parse(bytes.toString()) as Refusal).errors)
          if (contradictions.has(reason)) found(`${field} is ${reason}, which the document does not say`);
    }

    const { schemas = {} } = world.document.components;
    for (const [place, item] of Object.entries(world.document.paths))
      for (const [method, operation] of Object.entries(item)) {
        // The webhook that the other requests name.
        if (operation.operationId === 'deleteWebhook') continue;
        const asked = { method, place, operation: operation as RequestOperation };
        for (const request of makeRequests({ schemas, known, seed }, asked, perKind)) await ask(request);
      }
    assert.deepEqual(faults, []);
    assert.ok(answered > perKind, `${answered} were accepted`);
    const failed = world.logged.filter((line) => line.startsWith('error'));
    assert.deepEqual(failed, []);
  });
});

interface Refusal {
  readonly errors: readonly { readonly field: string; readonly reason: string }[];
}
