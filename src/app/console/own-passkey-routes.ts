import { Type } from 'typebox';
import type { PasskeyEntry } from '../../service/operators/index.ts';
import { newPasskey, ownPasskey, ownPasskeyList, passkeyChange, type OwnPasskey } from './contract/index.ts';
import { callerOf } from './guard.ts';
import { passkeyOptions, relyingPartyOf, type PasskeyParts } from './passkey-routes.ts';
import { refusals } from './routes/describe.ts';
import type { ConsoleRoutes } from './types.ts';

/** Bytes per answer of an authenticator, with a large RSA key. */
const maxBodyBytes = 65_536;
const params = Type.Object({ passkeyId: Type.String({ maxLength: 512 }) });
const config = { permission: 'signed-in' } as const;
const needsFreshSignIn =
  'Only in a session that began with a passkey at most five minutes ago; otherwise 403 with the reason operators_sign_in_stale.';

/** Routes by which operators manage their own passkeys. */
export function ownPasskeyRoutes({ services, tools, ceremonyCookie, address }: PasskeyParts): ConsoleRoutes {
  const { ownPasskeys } = services.operators;
  const relyingParty = relyingPartyOf(address);

  return (app) => {
    app.get(
      '/passkeys',
      { config, schema: { summary: 'List the passkeys of the operator', response: { 200: ownPasskeyList } } },
      async (request) => {
        const { canChange, passkeys } = await ownPasskeys.list(request.operator);
        return { canChange, result: passkeys.map(toAnswer) };
      },
    );
    app.post(
      '/passkeys/options',
      {
        config,
        schema: {
          summary: 'Begin to add a passkey',
          description: needsFreshSignIn,
          response: { 200: passkeyOptions, ...refusals(409) },
        },
      },
      async (request, reply) => {
        const begun = await ownPasskeys.beginAdding(relyingParty(), callerOf(request));
        ceremonyCookie.set(reply, begun.ceremony.token, begun.ceremony.expiresAt);
        return begun.options;
      },
    );
    app.post(
      '/passkeys',
      {
        bodyLimit: maxBodyBytes,
        config,
        schema: {
          summary: 'Add a passkey',
          description: needsFreshSignIn,
          body: newPasskey,
          response: { 201: ownPasskey, ...refusals(400, 409) },
        },
      },
      async (request, reply) => {
        const { name, response } = request.body;
        const ceremonyToken = ceremonyCookie.read(request);
        ceremonyCookie.clear(reply);
        const given = { name, response, ceremonyToken };
        const source = tools.sourceOf(request);
        const added = await ownPasskeys.add(relyingParty(), callerOf(request), given, source);
        return reply.code(201).send(toAnswer(added));
      },
    );
    app.patch(
      '/passkeys/:passkeyId',
      {
        config,
        schema: {
          summary: 'Name a passkey',
          params,
          body: passkeyChange,
          response: { 200: ownPasskey, ...refusals(400, 404, 409) },
        },
      },
      async (request) => {
        const { passkeyId } = request.params;
        const source = tools.sourceOf(request);
        return toAnswer(await ownPasskeys.rename(callerOf(request), passkeyId, request.body.name, source));
      },
    );
    app.delete(
      '/passkeys/:passkeyId',
      {
        config,
        schema: {
          summary: 'Remove a passkey',
          description: `${needsFreshSignIn} The only passkey is not removed (409). Sessions continue.`,
          params,
          response: { 204: Type.Null(), ...refusals(404, 409) } as Record<number, unknown>,
        },
      },
      async (request, reply) => {
        const source = tools.sourceOf(request);
        await ownPasskeys.remove(callerOf(request), request.params.passkeyId, source);
        return reply.code(204).send();
      },
    );
  };
}

function toAnswer({ id, name, isBackedUp, createdAt, lastUsedAt }: PasskeyEntry): OwnPasskey {
  return {
    id,
    name,
    isBackedUp,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}
