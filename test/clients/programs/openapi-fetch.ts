/** The whole path with the types of openapi-typescript and the client openapi-fetch. */
import createClient from 'openapi-fetch';
import type { paths } from './generated/types.js';
import { basic, env, finish, needed, waitUntil } from './common.js';

const baseUrl = env('BASE_URL');
const anonymous = createClient<paths>({ baseUrl });
const token = needed(
  await anonymous.POST('/oauth2/direct/v1/token', {
    body: { grant_type: 'client_credentials', scope: 'provider-directory messaging.api' },
    bodySerializer: (body) => new URLSearchParams({ ...body }),
    headers: { Authorization: basic(), 'Content-Type': 'application/x-www-form-urlencoded' },
  }),
);
const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token.access_token}` } });

const page = needed(
  await api.GET('/provider-directory/v2/providers', {
    params: { query: { prov_last_name: 'smith', limit: 2 } },
  }),
);
const sent = needed(
  await api.POST('/messaging/dirmsg/send_ccda', {
    body: {
      fromDirectAddress: env('FROM'),
      toDirectAddress: env('TO'),
      messageSubject: 'Referral',
      messageBody: 'Sent by a generated client.',
    },
  }),
);
const status = await waitUntil(
  async () =>
    needed(
      await api.GET('/messaging/dirmsg/status/{messageId}', {
        params: { path: { messageId: sent.messageId } },
      }),
    ),
  ({ result }) => result.every(({ final }) => final),
);
const inbox = await waitUntil(
  async () => needed(await api.GET('/messaging/dirmsg/inbox', { params: { query: { limit: 10 } } })),
  ({ result }) => result.length > 0,
);
const received = needed(
  await api.GET('/messaging/dirmsg/inbox/{messageId}', {
    params: { path: { messageId: inbox.result[0]?.messageId ?? '' } },
  }),
);
const hook = needed(
  await api.POST('/messaging/webhooks', {
    body: {
      url: 'https://edge.example.org/openapi-fetch',
      eventTypes: ['message.processed', 'message.failed'],
    },
  }),
);
const unknown = await api.GET('/messaging/dirmsg/status/{messageId}', {
  params: { path: { messageId: 'urn:uuid:00000000-0000-4000-8000-000000000000' } },
});

finish({
  providers: page.providers.length,
  messageStatus: status.messageStatus,
  subject: received.messageSubject,
  webhook: hook.webhook.kind,
  secret: hook.secret,
  refusal: unknown.error?.errors[0]?.reason ?? '',
});
