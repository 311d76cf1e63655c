/** The whole path with the functions that orval generates. */
import {
  createWebhook,
  getInboxMessage,
  getMessageStatus,
  issueToken,
  listInbox,
  searchProviders,
  sendMessage,
} from './generated/orval.js';
import { basic, env, finish, waitUntil } from './common.js';

const token = await issueToken(
  { grant_type: 'client_credentials', scope: 'provider-directory messaging.api' },
  { headers: { Authorization: basic() } },
);
if (token.status !== 200) throw new Error(`no token: ${token.status}`);
const options = { headers: { Authorization: `Bearer ${token.data.access_token}` } };

const page = await searchProviders({ prov_last_name: 'smith', limit: 2 }, options);
if (page.status !== 200) throw new Error(page.data.message);
const sent = await sendMessage(
  {
    fromDirectAddress: env('FROM'),
    toDirectAddress: env('TO'),
    messageSubject: 'Referral',
    messageBody: 'Sent by a generated client.',
  },
  options,
);
if (sent.status !== 200) throw new Error(sent.data.message);
const { messageId } = sent.data;
const status = await waitUntil(
  async () => {
    const answer = await getMessageStatus(messageId, options);
    if (answer.status !== 200) throw new Error(answer.data.message);
    return answer.data;
  },
  ({ result }) => result.every(({ final }) => final),
);
const inbox = await waitUntil(
  async () => {
    const answer = await listInbox({ limit: 10 }, options);
    if (answer.status !== 200) throw new Error(answer.data.message);
    return answer.data;
  },
  ({ result }) => result.length > 0,
);
const received = await getInboxMessage(inbox.result[0]?.messageId ?? '', undefined, options);
if (received.status !== 200) throw new Error(received.data.message);
const hook = await createWebhook(
  { url: 'https://edge.example.org/orval', eventTypes: ['message.processed', 'message.failed'] },
  options,
);
if (hook.status !== 201) throw new Error(hook.data.message);
const unknown = await getMessageStatus('urn:uuid:00000000-0000-4000-8000-000000000000', options);

finish({
  providers: page.data.providers.length,
  messageStatus: status.messageStatus,
  subject: received.data.messageSubject,
  webhook: hook.data.webhook.kind,
  secret: hook.data.secret,
  refusal: unknown.status === 404 ? (unknown.data.errors[0]?.reason ?? '') : '',
});
