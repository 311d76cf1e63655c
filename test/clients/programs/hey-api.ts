/** The whole path with the client that hey-api generates. */
import { client } from './generated/hey-api/client.gen.js';
import {
  createWebhook,
  getInboxMessage,
  getMessageStatus,
  issueToken,
  listInbox,
  searchProviders,
  sendMessage,
} from './generated/hey-api/sdk.gen.js';
import { env, finish, needed, waitUntil } from './common.js';

let accessToken = '';
client.setConfig({
  baseUrl: env('BASE_URL'),
  auth: ({ scheme }) => (scheme === 'basic' ? `${env('CLIENT_ID')}:${env('CLIENT_SECRET')}` : accessToken),
});
const token = needed(
  await issueToken({
    body: { grant_type: 'client_credentials', scope: 'provider-directory messaging.api' },
  }),
);
accessToken = token.access_token;

const page = needed(await searchProviders({ query: { prov_last_name: 'smith', limit: 2 } }));
const sent = needed(
  await sendMessage({
    body: {
      fromDirectAddress: env('FROM'),
      toDirectAddress: env('TO'),
      messageSubject: 'Referral',
      messageBody: 'Sent by a generated client.',
    },
  }),
);
const status = await waitUntil(
  async () => needed(await getMessageStatus({ path: { messageId: sent.messageId } })),
  ({ result }) => result.every(({ final }) => final),
);
const inbox = await waitUntil(
  async () => needed(await listInbox({ query: { limit: 10 } })),
  ({ result }) => result.length > 0,
);
const received = needed(await getInboxMessage({ path: { messageId: inbox.result[0]?.messageId ?? '' } }));
const hook = needed(
  await createWebhook({
    body: { url: 'https://edge.example.org/hey-api', eventTypes: ['message.processed', 'message.failed'] },
  }),
);
const unknown = await getMessageStatus({
  path: { messageId: 'urn:uuid:00000000-0000-4000-8000-000000000000' },
});

finish({
  providers: page.providers.length,
  messageStatus: status.messageStatus,
  subject: received.messageSubject,
  webhook: hook.webhook.kind,
  secret: hook.secret,
  refusal: unknown.error?.errors[0]?.reason ?? '',
});
