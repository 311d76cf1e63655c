import type { PasskeyEntry } from '../../service/operators/index.ts';
import { newPasskey, ownPasskey, ownPasskeyList, passkeyChange, type OwnPasskey } from './contract/index.ts';
import { callerOf } from './guard.ts';
import { passkeyOptions, relyingPartyOf, type PasskeyParts } from './passkey-routes.ts';
import { route } from './route.ts';
import type { ConsoleRoutes } from './types.ts';

/** Bytes per answer of an authenticator, with a large RSA key. */
const maxBodyBytes = 65_536;
const needsFreshSignIn =
  'Only in a session that began with a passkey at most five minutes ago; otherwise 403 with the reason operators_sign_in_stale.';

/** Routes by which operators manage their own passkeys. */
export function ownPasskeyRoutes({ services, tools, ceremonyCookie, address }: PasskeyParts): ConsoleRoutes {
  const { ownPasskeys } = services.operators;
  const relyingParty = relyingPartyOf(address);

  return (app) => {
    route(app, 'get', '/passkeys', {
      needs: 'signed-in',
      scope: 'caller',
      about: ['access', 'List the passkeys of the operator'],
      answer: ownPasskeyList,
      handle: async (request) => {
        const { canChange, passkeys } = await ownPasskeys.list(request.operator);
        return { canChange, result: passkeys.map(toPasskeyAnswer) };
      },
    });
    route(app, 'post', '/passkeys/options', {
      needs: 'signed-in',
      scope: 'caller',
      about: ['access', 'Begin to add a passkey', needsFreshSignIn],
      answer: passkeyOptions,
      refuses: [409],
      handle: async (request, reply) => {
        const begun = await ownPasskeys.beginAdding(relyingParty(), callerOf(request));
        ceremonyCookie.set(reply, begun.ceremony.token, begun.ceremony.expiresAt);
        return begun.options;
      },
    });
    route(app, 'post', '/passkeys', {
      needs: 'signed-in',
      scope: 'caller',
      about: ['access', 'Add a passkey', needsFreshSignIn],
      body: newPasskey,
      answer: ownPasskey,
      status: 201,
      refuses: [409],
      maxBodyBytes,
      handle: async (request, reply) => {
        const { name, response } = request.body;
        const ceremonyToken = ceremonyCookie.read(request);
        ceremonyCookie.clear(reply);
        const given = { name, response, ceremonyToken };
        const source = tools.sourceOf(request);
        const added = await ownPasskeys.add(relyingParty(), callerOf(request), given, source);
        return toPasskeyAnswer(added);
      },
    });
    route(app, 'patch', '/passkeys/:passkeyId', {
      needs: 'signed-in',
      scope: 'caller',
      about: ['access', 'Name a passkey'],
      body: passkeyChange,
      answer: ownPasskey,
      refuses: [409],
      handle: async (request) => {
        const { passkeyId } = request.params;
        const source = tools.sourceOf(request);
        return toPasskeyAnswer(
          await ownPasskeys.rename(callerOf(request), passkeyId, request.body.name, source),
        );
      },
    });
    route(app, 'delete', '/passkeys/:passkeyId', {
      needs: 'signed-in',
      scope: 'caller',
      about: [
        'access',
        'Remove a passkey',
        `${needsFreshSignIn} The only passkey is not removed (409). Sessions continue.`,
      ],
      status: 204,
      refuses: [409],
      handle: async (request) => {
        const source = tools.sourceOf(request);
        await ownPasskeys.remove(callerOf(request), request.params.passkeyId, source);
        return null;
      },
    });
  };
}

export function toPasskeyAnswer({ id, name, isBackedUp, createdAt, lastUsedAt }: PasskeyEntry): OwnPasskey {
  return {
    id,
    name,
    isBackedUp,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}
