import { Type } from 'typebox';
import type { RelyingParty } from '../../service/operators/index.ts';
import { linkRequest, passkeyAssertion, passkeyEnrolment, signedIn } from './contract/index.ts';
import type { ConsoleCookie } from './cookies.ts';
import { route } from './route.ts';
import type { PublicAddress } from './public-address.ts';
import type { SignInTools } from './sign-in-tools.ts';
import type { ConsoleRoutes, ConsoleServices } from './types.ts';

/** Bytes per answer of an authenticator, with a large RSA key. */
const maxBodyBytes = 65_536;

/**
 * The options of WebAuthn; the browser's own functions read them
 * (`PublicKeyCredential.parseCreationOptionsFromJSON`).
 */
export const passkeyOptions = Type.Object(
  {},
  { additionalProperties: true, description: 'For navigator.credentials.' },
);

export interface PasskeyParts {
  readonly services: ConsoleServices;
  readonly tools: SignInTools;
  /** Binds a challenge to the browser that requested it. */
  readonly ceremonyCookie: ConsoleCookie;
  readonly address: () => PublicAddress;
}

export const relyingPartyOf = (address: () => PublicAddress) => (): RelyingParty => ({
  id: address().hostname,
  origin: address().origin,
});

/** Registering a passkey by an enrolment link, and signing in with one. */
export function passkeyRoutes({ services, tools, ceremonyCookie, address }: PasskeyParts): ConsoleRoutes {
  const { signIn } = services.operators;
  const relyingParty = relyingPartyOf(address);

  return (app) => {
    route(app, 'post', '/enrol/passkey/options', {
      needs: 'public',
      about: ['access', 'Begin to register a passkey'],
      body: linkRequest,
      answer: passkeyOptions,
      maxBodyBytes,
      handle: async (request, reply) => {
        const begun = await signIn.beginEnrolment(
          tools.sourceOf(request),
          relyingParty(),
          request.body.token,
        );
        ceremonyCookie.set(reply, begun.ceremony.token, begun.ceremony.expiresAt);
        return begun.options;
      },
    });
    route(app, 'post', '/enrol/passkey/verify', {
      needs: 'public',
      about: ['access', 'Register a passkey'],
      body: passkeyEnrolment,
      answer: signedIn,
      maxBodyBytes,
      handle: async (request, reply) => {
        const { token, response } = request.body;
        const ceremony = ceremonyCookie.read(request);
        ceremonyCookie.clear(reply);
        const source = tools.sourceOf(request);
        return tools.begin(reply, await signIn.enrol(relyingParty(), token, ceremony, response, source));
      },
    });
    route(app, 'post', '/sign-in/passkey/options', {
      needs: 'public',
      about: ['access', 'Begin to sign in by passkey'],
      answer: passkeyOptions,
      maxBodyBytes,
      handle: async (request, reply) => {
        const begun = await signIn.beginPasskey(tools.sourceOf(request), relyingParty());
        ceremonyCookie.set(reply, begun.ceremony.token, begun.ceremony.expiresAt);
        return begun.options;
      },
    });
    route(app, 'post', '/sign-in/passkey/verify', {
      needs: 'public',
      about: ['access', 'Sign in by passkey'],
      body: passkeyAssertion,
      answer: signedIn,
      maxBodyBytes,
      handle: async (request, reply) => {
        const ceremony = ceremonyCookie.read(request);
        ceremonyCookie.clear(reply);
        const source = tools.sourceOf(request);
        return tools.begin(reply, await signIn.byPasskey(relyingParty(), ceremony, request.body, source));
      },
    });
  };
}
