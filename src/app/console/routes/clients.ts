import { setImmediate as nextTurn } from 'node:timers/promises';
import { readUsedToday } from '../../../service/directory/index.ts';
import { countSent } from '../../../service/messaging/index.ts';
import { isOwned } from '../../../service/organizations/index.ts';
import type { Client as FoundClient, ClientSettings } from '../../../service/oauth/index.ts';
import {
  clientChange,
  clientDetails,
  clientList,
  doneAnswer,
  issuedSecret,
  newClient,
  revokeQuery,
  client as clientSchema,
  type Client,
  type ClientChange,
} from '../contract/index.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { Acting } from './acting.ts';
import { isoOrNull, isoTime } from './formats.ts';
import { quoteForShell } from '../../../core/index.ts';

/** Routes of API clients: permissions, usage, secrets by id. A new secret is shown once. */
export function clientRoutes(services: ConsoleServices, acting: Acting): ConsoleRoutes {
  const { oauth } = services;
  return (app) => {
    route(app, 'get', '/clients', {
      needs: 'settings.read',
      scope: 'filtered',
      about: ['clients', 'List clients'],
      answer: clientList,
      handle: async ({ owned }) => {
        const all = await oauth.clients.list();
        const some = all.filter(({ clientId }) => isOwned(owned, 'clients', clientId));
        return { result: await toClients(services, some) };
      },
    });
    route(app, 'get', '/clients/:id', {
      needs: 'settings.read',
      scope: ['client', 'id'],
      about: ['clients', 'Show a client, with first requests to copy'],
      answer: clientDetails,
      handle: async (request) => {
        const client = await toClient(services, await oauth.clients.get(request.params.id));
        return { client, firstRequests: writeFirstRequests(services, client) };
      },
    });
    route(app, 'post', '/clients', {
      needs: 'settings.change',
      about: ['clients', 'Create a client', 'The secret is shown only once.'],
      body: newClient,
      answer: issuedSecret,
      status: 201,
      refuses: [404, 409],
      handle: async (request) => {
        const { name, scopes } = request.body;
        const issued = await acting(request).clients.create({
          ...toSettings(services, request.body),
          name,
          scopes,
        });
        return issued;
      },
    });
    route(app, 'patch', '/clients/:id', {
      needs: 'settings.change',
      about: ['clients', 'Change a client', 'Omitted fields keep their values.'],
      body: clientChange,
      answer: clientSchema,
      refuses: [409],
      handle: async (request) =>
        toClient(
          services,
          await acting(request).clients.update(request.params.id, toSettings(services, request.body)),
        ),
    });
    route(app, 'post', '/clients/:id/secrets', {
      needs: 'settings.change',
      scope: ['client', 'id'],
      about: [
        'clients',
        'Issue another secret',
        'Shown only once; the old one stays valid until it is revoked.',
      ],
      answer: issuedSecret,
      status: 201,
      refuses: [409],
      handle: async (request) => await acting(request).clients.rotateSecret(request.params.id),
    });
    route(app, 'delete', '/clients/:id/secrets/:secretId', {
      needs: 'settings.change',
      scope: ['client', 'id'],
      about: ['clients', 'Revoke a secret', 'Its tokens are revoked at once.'],
      query: revokeQuery,
      answer: doneAnswer,
      refuses: [409],
      handle: async (request) => {
        const { id, secretId } = request.params;
        await acting(request).clients.revokeSecret(id, secretId, {
          isForced: request.query.isForced === true,
        });
        return { count: 1, sentence: 'The secret and its tokens are revoked.' };
      },
    });
    for (const action of ['disable', 'enable'] as const) {
      route(app, 'post', `/clients/:id/${action}`, {
        needs: 'settings.change',
        // Who runs the HISP may have disabled it: only they enable it again.
        ...(action === 'disable' && { scope: ['client', 'id'] as const }),
        about: ['clients', action === 'disable' ? 'Disable a client' : 'Enable a client'],
        answer: doneAnswer,
        handle: async (request) => {
          await acting(request).clients[action](request.params.id);
          const sentence =
            action === 'disable'
              ? 'The client is disabled, and its tokens are revoked.'
              : 'The client is enabled.';
          return { count: 1, sentence };
        },
      });
    }
  };
}

function toSettings({ clock }: ConsoleServices, change: ClientChange): ClientSettings {
  const { hasAcceptedDataUse, limits, organization, ...settings } = change;
  return {
    ...settings,
    ...(organization !== undefined && { organizationId: organization }),
    ...(limits !== undefined && { limits }),
    ...(hasAcceptedDataUse === true && { dataUseAcceptedAt: clock.now() }),
  };
}

/** Clients whose usage is read at once. */
const clientsPerTurn = 200;

/**
 * Reads usage for many clients at a time, and hands the event loop back in between: SQLite answers in the
 * same turn.
 */
async function toClients(services: ConsoleServices, clients: readonly FoundClient[]): Promise<Client[]> {
  const done: Client[] = [];
  for (let start = 0; start < clients.length; start += clientsPerTurn) {
    if (start > 0) await nextTurn();
    const some = clients.slice(start, start + clientsPerTurn);
    const usage = await readUsage(
      services,
      some.map(({ clientId }) => clientId),
    );
    done.push(...some.map((client) => describeClient(services, client, usage)));
  }
  return done;
}

async function toClient(services: ConsoleServices, client: FoundClient): Promise<Client> {
  return describeClient(services, client, await readUsage(services, [client.clientId]));
}

type Usage = Awaited<ReturnType<typeof readUsage>>;

async function readUsage({ storage, clock, oauth }: ConsoleServices, clientIds: readonly string[]) {
  const now = clock.now();
  const midnight = new Date(now.toISOString().slice(0, 10));
  const [sent, records, tokens] = await Promise.all([
    countSent(storage, clientIds, midnight),
    readUsedToday(storage, clientIds, now),
    oauth.findLastTokens(clientIds),
  ]);
  return { sent, records, tokens };
}

function describeClient({ config }: ConsoleServices, client: FoundClient, usage: Usage): Client {
  const { clientId, limits, disabledAt } = client;
  const sent = usage.sent.get(clientId);
  const records = usage.records.get(clientId) ?? 0;
  const lastSeen = Math.max(sent?.lastAt?.getTime() ?? 0, usage.tokens.get(clientId)?.getTime() ?? 0);
  const usual = {
    directoryRequestsPerSecond: config.directory.requestsPerSecond,
    directoryRequestsBurst: config.directory.requestsBurst,
    directoryRecordsPerDay: config.directory.recordsPerDay,
    sendsPerSecond: config.messaging.sendsPerSecond,
    sendsBurst: config.messaging.sendsBurst,
  };
  const isUsedUp = records >= { ...usual, ...limits }.directoryRecordsPerDay;
  return {
    clientId,
    name: client.name,
    isEnabled: disabledAt === undefined,
    level: disabledAt !== undefined ? 'none' : isUsedUp ? 'warning' : 'ok',
    text:
      disabledAt !== undefined
        ? 'Disabled: it gets no tokens.'
        : isUsedUp
          ? 'It has reached its limit of directory records for today.'
          : lastSeen === 0
            ? 'Enabled; not used yet.'
            : 'Enabled.',
    scopes: [...client.scopes],
    directAddresses: [...client.directAddresses],
    requestFinalDelivery: client.requestFinalDelivery,
    limits: { ...usual, ...limits },
    own: Object.keys(limits),
    secrets: client.secrets.map(({ secretId, createdAt }) => ({ secretId, createdAt: isoTime(createdAt) })),
    dataUseAcceptedAt: isoOrNull(client.dataUseAcceptedAt),
    createdAt: isoTime(client.createdAt),
    disabledAt: isoOrNull(disabledAt),
    lastSeenAt: lastSeen === 0 ? null : isoTime(new Date(lastSeen)),
    usage: { directoryRecords: records, messages: sent?.count ?? 0 },
  };
}

/** Shell commands with the client's id and its addresses; the secret is a variable. */
function writeFirstRequests({ apiUrl }: ConsoleServices, { clientId, scopes, directAddresses }: Client) {
  const sender = directAddresses[0]?.replace(/^@/, 'YOU@') ?? 'YOU@direct.example.org';
  const token = [
    `TOKEN=$(curl -s -u ${quoteForShell(clientId)}:"$CLIENT_SECRET" \\`,
    `  -d 'grant_type=client_credentials' -d ${quoteForShell(`scope=${scopes.join(' ')}`)} \\`,
    `  ${quoteForShell(`${apiUrl}/oauth2/direct/v1/token`)} | jq -r .access_token)`,
  ].join('\n');
  const search = `curl -s -H "Authorization: Bearer $TOKEN" ${quoteForShell(`${apiUrl}/provider-directory/v2/providers?org_state=MA&limit=5`)}`;
  const message = {
    fromDirectAddress: sender,
    toDirectAddress: 'RECIPIENT',
    messageSubject: 'Test',
    messageBody: 'A first message.',
  };
  const send = [
    'curl -s -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\',
    `  -d ${quoteForShell(JSON.stringify(message))} \\`,
    `  ${quoteForShell(`${apiUrl}/messaging/dirmsg/send_ccda`)}`,
  ].join('\n');
  return [
    { title: 'Get a token', command: token },
    ...(scopes.includes('provider-directory') ? [{ title: 'Search the directory', command: search }] : []),
    ...(scopes.includes('messaging.api') ? [{ title: 'Send a message', command: send }] : []),
  ];
}
