/** Every operation of the document, and both webhooks, by the types of openapi-typescript. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import createClient from 'openapi-fetch';
import type { paths, webhooks } from './generated/types.js';
import { basic, env, needed, waitUntil } from './common.js';

type Notification = webhooks['status']['post']['requestBody']['content']['application/json'];
type Pushed = webhooks['inbound']['post']['requestBody']['content']['application/json'];

const used = new Set<string>();
const client = createClient<paths>({ baseUrl: env('BASE_URL') });
let accessToken = '';
client.use({
  onRequest({ request, schemaPath }) {
    used.add(`${request.method} ${schemaPath}`);
    if (accessToken !== '' && !request.headers.has('authorization'))
      request.headers.set('authorization', `Bearer ${accessToken}`);
    return request;
  },
});
const form = {
  bodySerializer: (body: object) => new URLSearchParams({ ...body }),
  headers: { Authorization: basic(), 'Content-Type': 'application/x-www-form-urlencoded' },
};

const events: Notification[] = [];
const pushed: Pushed[] = [];
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (request.url === '/status') events.push(body as Notification);
    else pushed.push(body as Pushed);
    response.writeHead(204).end();
  });
});
await new Promise<void>((ready) => receiver.listen(0, '127.0.0.1', ready));
const receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

// For everybody.
const live = needed(await client.GET('/health/live'));
const ready = needed(await client.GET('/health/ready'));
const server = needed(await client.GET('/.well-known/oauth-authorization-server'));
const bundle = await client.GET('/trust-bundle.p7b', { parseAs: 'arrayBuffer' });
const unchanged = await client.GET('/trust-bundle.p7b', {
  params: { header: { 'If-None-Match': bundle.response.headers.get('etag') ?? '', 'X-Request-Id': 'mine' } },
  parseAs: 'arrayBuffer',
});

const token = needed(
  await client.POST('/oauth2/direct/v1/token', { body: { grant_type: 'client_credentials' }, ...form }),
);
accessToken = token.access_token;

// Find.
const query = { org_zip: '60601', radius: 50, sort_by: 'radius,prov_last_name', limit: 3, offset: 0 };
const near = needed(await client.GET('/provider-directory/v2/providers', { params: { query } }));
const npi = near.providers[0]?.prov_npi ?? '';
const same = needed(
  await client.GET('/provider-directory/v2/providers/prov_npi/{npi}', { params: { path: { npi } } }),
);
const typed = needed(
  await client.GET('/provider-directory/v2/suggestions', { params: { query: { q: npi, limit: 1 } } }),
);
const checks = needed(
  await client.POST('/messaging/dirmsg/validate', {
    body: {
      fromDirectAddress: env('FROM'),
      toDirectAddress: [env('TO'), 'nobody', env('FROM')],
      verification: true,
    },
  }),
);

// Register, send, follow.
const status = needed(
  await client.POST('/messaging/webhooks', {
    body: { url: `${receiverUrl}/status`, kind: 'status', eventTypes: ['message.processed'] },
  }),
);
const inbound = needed(
  await client.POST('/messaging/webhooks', {
    body: { url: `${receiverUrl}/inbound`, kind: 'inbound', xdm: true },
  }),
);
const content = Buffer.from('Blood pressure 120/80').toString('base64');
const sent = needed(
  await client.POST('/messaging/dirmsg/send_ccda', {
    body: {
      fromDirectAddress: env('FROM'),
      toDirectAddress: [env('TO'), env('FROM')],
      messageSubject: 'Every operation',
      messageBody: 'See the note.',
      xdm: true,
      patientLastname: 'Doe',
      patientFirstname: 'Jane',
      emailAttachmentList: [
        {
          attachmentClass: 'text/plain',
          attachmentContent: content,
          attachmentTitle: 'Note',
          attachmentFileName: 'note.txt',
        },
      ],
    },
  }),
);
const { messageId } = sent;
const report = await waitUntil(
  async () =>
    needed(await client.GET('/messaging/dirmsg/status/{messageId}', { params: { path: { messageId } } })),
  ({ result }) => result.every(({ final }) => final),
);
const reports = needed(
  await client.POST('/messaging/dirmsg/status', {
    body: { messageIds: [messageId, 'urn:uuid:00000000-0000-4000-8000-000000000000'] },
  }),
);
const evidence = needed(
  await client.GET('/messaging/dirmsg/evidence/{messageId}', { params: { path: { messageId } } }),
);
await waitUntil(
  async () => [events, pushed],
  () => events.length === 2 && pushed.length === 1,
);

// Receive. What the sandbox put into the inbox before the webhook existed is there still.
const inbox = needed(
  await client.GET('/messaging/dirmsg/inbox', {
    params: { query: { toDirectAddress: env('FROM'), limit: 1 } },
  }),
);
const copy = { messageId: inbox.result[0]?.messageId ?? '' };
const plain = needed(await client.GET('/messaging/dirmsg/inbox/{messageId}', { params: { path: copy } }));
const packed = needed(
  await client.GET('/messaging/dirmsg/inbox/{messageId}', { params: { path: copy, query: { xdm: true } } }),
);
const bytes = needed(
  await client.GET('/messaging/dirmsg/inbox/{messageId}/attachments/{position}', {
    params: { path: { ...copy, position: 0 } },
    parseAs: 'arrayBuffer',
  }),
);
const acknowledged = needed(
  await client.POST('/messaging/dirmsg/inbox/{messageId}/ack', { params: { path: copy } }),
);

// Manage webhooks.
const hook = { params: { path: { webhookId: status.webhook.id } } };
const rotated = needed(await client.POST('/messaging/webhooks/{webhookId}/rotate-secret', hook));
const changed = needed(
  await client.PATCH('/messaging/webhooks/{webhookId}', {
    ...hook,
    body: { enabled: false, basicAuth: null },
  }),
);
const shown = needed(await client.GET('/messaging/webhooks/{webhookId}', hook));
const dead = needed(await client.GET('/messaging/webhooks/{webhookId}/dead-letters', hook));
const replayed = needed(await client.POST('/messaging/webhooks/{webhookId}/replay', hook));
for (const { id } of [status.webhook, inbound.webhook])
  await client.DELETE('/messaging/webhooks/{webhookId}', { params: { path: { webhookId: id } } });
const hooks = needed(await client.GET('/messaging/webhooks'));

// Keep addresses.
const domain = env('FROM').split('@')[1] ?? '';
const mine = { params: { path: { directAddress: `new.provider@${domain}` } } };
const added = needed(
  await client.PUT('/provisioning/addresses/{directAddress}', {
    ...mine,
    body: { directory: { lastName: 'Provider' } },
  }),
);
const dry = needed(
  await client.POST('/provisioning/addresses', {
    body: { dryRun: true, addresses: [{ directAddress: `other@${domain}`, status: 'disabled' }] },
  }),
);
const shared = needed(
  await client.PUT('/provisioning/addresses/{directAddress}/forwarding', {
    ...mine,
    body: { deliverTo: [env('FROM')] },
  }),
);
await client.DELETE('/provisioning/addresses/{directAddress}/forwarding', mine);
const hosted = needed(await client.GET('/provisioning/addresses/{directAddress}', mine));
const listed = needed(
  await client.GET('/provisioning/addresses', { params: { query: { domain, limit: 1 } } }),
);
const organization = needed(await client.GET('/provisioning/organization'));

// End.
await client.POST('/oauth2/direct/v1/revoke', { body: { token: accessToken }, ...form });
const refused = await client.GET('/messaging/webhooks');
receiver.close();
receiver.closeAllConnections();

process.stdout.write(
  JSON.stringify({
    used: [...used],
    seen: {
      health: [live.status, ready.status],
      tokenEndpoint: server.token_endpoint === `${env('BASE_URL')}/oauth2/direct/v1/token`,
      bundle: [
        needed(bundle).byteLength > 0,
        unchanged.response.status,
        unchanged.response.headers.get('x-request-id'),
      ],
      distances: near.providers.every(({ distance }) => distance !== undefined && distance <= 50),
      same: same.providers.every(({ prov_npi }) => prov_npi === npi) && same.providers.length > 0,
      suggested: typed.suggestions.some(({ addresses }) => addresses.length > 0),
      checks: checks.result.map(({ syntax, trusted, listed, reason }) => [syntax, trusted, listed, reason]),
      statuses: report.result.map(({ status: state, reason }) => [state, reason]),
      reports: [reports.result[0]?.messageStatus, ...reports.unknown],
      evidence: 'payload' in Object(evidence),
      events: events.map(({ eventType, status: state, attempt }) => [eventType, state, attempt]),
      pushed: pushed.map((one) => [one.xdm, one.emailAttachmentList.length, one.messageSubject]),
      received: [
        plain.xdm,
        packed.xdm,
        plain.emailAttachmentList[0]?.attachmentSize === String(bytes.byteLength),
      ],
      acknowledged: acknowledged.messageId === copy.messageId,
      secrets: [inbound.secret, rotated.secret].every((secret) => secret.startsWith('whsec_')),
      webhook: [changed.webhook.enabled, shown.webhook.disabledReason, shown.webhook.basicAuth],
      rest: [
        dead.result.length,
        replayed.replayed,
        hooks.result.filter(({ url }) => url.startsWith(receiverUrl)).length,
      ],
      provisioning: [
        added.outcome,
        dry.stored,
        dry.result[0]?.outcome,
        hosted.address.directory?.lastName,
        shared.address.forwarding?.keepsCopy,
        hosted.address.forwarding,
        listed.result.length,
        organization.organization.domains.includes(domain),
      ],
      refused: [refused.response.status, refused.error?.errors[0]?.reason],
    },
  }),
);
