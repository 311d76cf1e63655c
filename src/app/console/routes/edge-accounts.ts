import { everything, isOwned, isOwnedAddress } from '../../../service/organizations/index.ts';
import type { EdgeAccount as FoundAccount } from '../../../service/edges/index.ts';
import {
  doneAnswer,
  edgeAccount,
  edgeAccountChange,
  edgeAccountList,
  issuedPassword,
  newEdgeAccount,
  type EdgeAccount,
} from '../contract/index.ts';
import { ConsoleError, invalidField } from '../errors.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { Acting } from './acting.ts';
import { isoOrNull, isoTime } from './formats.ts';

/** Routes of accounts of software that speaks no REST. A new password is shown once. */
export function edgeAccountRoutes({ edges, oauth }: ConsoleServices, acting: Acting): ConsoleRoutes {
  async function readNames(): Promise<ReadonlyMap<string, string>> {
    return new Map((await oauth.clients.list()).map(({ clientId, name }) => [clientId, name]));
  }
  const show = async (account: FoundAccount): Promise<EdgeAccount> => toAccount(account, await readNames());
  return (app) => {
    route(app, 'get', '/edge-accounts', {
      needs: 'settings.read',
      scope: 'filtered',
      about: ['edge accounts', 'List edge accounts'],
      answer: edgeAccountList,
      handle: async ({ owned }) => {
        const [accounts, names] = await Promise.all([edges.accounts.list(), readNames()]);
        const some = accounts.filter(({ clientId }) => isOwned(owned, 'clients', clientId));
        return { result: some.map((account) => toAccount(account, names)) };
      },
    });
    route(app, 'get', '/edge-accounts/:id', {
      needs: 'settings.read',
      scope: ['edge-account', 'id'],
      about: ['edge accounts', 'Show an edge account', 'By its id or its user name.'],
      answer: edgeAccount,
      handle: async (request) => show(await edges.accounts.get(request.params.id)),
    });
    route(app, 'post', '/edge-accounts', {
      needs: 'settings.change',
      scope: 'filtered',
      about: ['edge accounts', 'Create an edge account', 'The password is shown only once.'],
      body: newEdgeAccount,
      answer: issuedPassword,
      status: 201,
      refuses: [404, 409],
      handle: async (request) => {
        if (!isOwned(request.owned, 'clients', request.body.clientId))
          throw new ConsoleError('CONSOLE_NOT_FOUND', 'the client is not one of this organization');
        // User names are unique in all of this HISP: a free one would tell of, or take, another's.
        if (request.owned !== everything && !isOwnedAddress(request.owned, request.body.username))
          throw invalidField('username', 'The user name must be an address of your organization.');
        return await acting(request).edgeAccounts.create(request.body);
      },
    });
    route(app, 'patch', '/edge-accounts/:id', {
      needs: 'settings.change',
      scope: ['edge-account', 'id'],
      about: ['edge accounts', 'Change an edge account', 'Omitted fields keep their values.'],
      body: edgeAccountChange,
      answer: edgeAccount,
      handle: async (request) =>
        show(await acting(request).edgeAccounts.update(request.params.id, request.body)),
    });
    route(app, 'post', '/edge-accounts/:id/passwords', {
      needs: 'settings.change',
      scope: ['edge-account', 'id'],
      about: [
        'edge accounts',
        'Issue another password',
        'Shown only once; the old one stays valid until it is revoked.',
      ],
      answer: issuedPassword,
      status: 201,
      refuses: [409],
      handle: async (request) => await acting(request).edgeAccounts.rotatePassword(request.params.id),
    });
    route(app, 'delete', '/edge-accounts/:id/passwords/:passwordId', {
      needs: 'settings.change',
      scope: ['edge-account', 'id'],
      about: ['edge accounts', 'Revoke a password', 'The last one is not revoked: disable the account.'],
      answer: doneAnswer,
      refuses: [409],
      handle: async (request) => {
        await acting(request).edgeAccounts.revokePassword(request.params.id, request.params.passwordId);
        return { count: 1, sentence: 'The password is revoked.' };
      },
    });
    for (const action of ['disable', 'enable'] as const)
      route(app, 'post', `/edge-accounts/:id/${action}`, {
        needs: 'settings.change',
        // Who runs the HISP may have disabled it: only they enable it again.
        ...(action === 'disable' && { scope: ['edge-account', 'id'] as const }),
        about: ['edge accounts', action === 'disable' ? 'Disable an edge account' : 'Enable an edge account'],
        answer: doneAnswer,
        handle: async (request) => {
          await acting(request).edgeAccounts[action](request.params.id);
          const sentence =
            action === 'disable'
              ? 'The account is disabled; its sessions end at their next command.'
              : 'The account is enabled.';
          return { count: 1, sentence };
        },
      });
  };
}

function toAccount(account: FoundAccount, names: ReadonlyMap<string, string>): EdgeAccount {
  const { accountId, clientId, username, policies, createdAt, disabledAt } = account;
  return {
    accountId,
    clientId,
    clientName: names.get(clientId) ?? '',
    username,
    isEnabled: disabledAt === undefined,
    level: disabledAt === undefined ? 'ok' : 'none',
    text: disabledAt === undefined ? 'Enabled.' : 'Disabled: it cannot sign in.',
    addresses: [...account.addresses],
    protocols: [...account.protocols],
    policies: { ...policies },
    passwords: account.passwords.map((one) => ({
      passwordId: one.passwordId,
      createdAt: isoTime(one.createdAt),
    })),
    createdAt: isoTime(createdAt),
    disabledAt: isoOrNull(disabledAt),
  };
}
