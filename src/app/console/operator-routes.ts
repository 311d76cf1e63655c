import { Type } from 'typebox';
import {
  parseRole,
  type IssuedLink,
  type Operator,
  type OperatorAdministration,
  type OperatorEntry as FoundOperator,
  type SignedInOperator,
} from '../../service/operators/index.ts';
import { toSessionAnswer } from './access-routes.ts';
import {
  doneAnswer,
  newOperator,
  operatorChange,
  operatorDetails,
  operatorLink,
  operatorList,
  type OperatorEntry,
  type OperatorLink,
} from './contract/index.ts';
import { callerOf } from './guard.ts';
import { toPasskeyAnswer } from './own-passkey-routes.ts';
import type { PublicAddress } from './public-address.ts';
import { route } from './route.ts';
import { countOf, isoOrNull, isoTime } from './routes/formats.ts';
import type { ConsoleRoutes, ConsoleServices } from './types.ts';

const name = Type.String({ maxLength: 100 });
const id = Type.String({ maxLength: 512 });
const byName = Type.Object({ name });
const givesAccess =
  'Only within five minutes after signing in, and not with a bearer token; otherwise 403 with the reason operators_sign_in_stale.';

/** Routes by which operators are administered, with their sessions, passkeys and tokens. */
export function operatorRoutes({
  services: { operators },
  address,
}: {
  readonly services: Pick<ConsoleServices, 'operators'>;
  readonly address: () => PublicAddress;
}): ConsoleRoutes {
  const acting = (caller: SignedInOperator): OperatorAdministration => operators.as(caller);
  const toLink = (of: Operator, { token, expiresAt }: IssuedLink): OperatorLink => ({
    name: of.name,
    link: `${address().origin}/#enter=${token}`,
    endsAt: isoTime(expiresAt),
  });
  return (app) => {
    route(app, 'get', '/operators', {
      needs: 'operators.read',
      about: ['operators', 'List operators'],
      answer: operatorList,
      handle: async (request) => {
        const caller = callerOf(request);
        const all = await acting(caller).list();
        return { result: all.map((one) => toEntry(one, caller)) };
      },
    });
    route(app, 'get', '/operators/:name', {
      needs: 'operators.read',
      about: ['operators', 'Show an operator with sessions, tokens and passkeys'],
      params: byName,
      answer: operatorDetails,
      handle: async (request) => {
        const caller = callerOf(request);
        const { operator, sessions, tokens, passkeys } = await acting(caller).show(request.params.name);
        return {
          operator: toEntry(operator, caller),
          sessions: sessions.map((one) => toSessionAnswer(one, caller.sessionId)),
          tokens: tokens.map(({ createdAt, expiresAt, ...token }) => ({
            ...token,
            createdAt: isoTime(createdAt),
            endsAt: isoTime(expiresAt),
          })),
          passkeys: passkeys.map(toPasskeyAnswer),
        };
      },
    });
    route(app, 'post', '/operators', {
      needs: 'operators.change',
      about: ['operators', 'Create an operator', `Answers the enrollment link, once. ${givesAccess}`],
      body: newOperator,
      answer: operatorLink,
      status: 201,
      refuses: [404, 409],
      handle: async (request) => {
        const { name: newName, role, organization } = request.body;
        const made = await acting(callerOf(request)).create(newName, parseRole(role), organization);
        return toLink(made.operator, made.link);
      },
    });
    route(app, 'post', '/operators/:name/link', {
      needs: 'operators.change',
      about: [
        'operators',
        'Make a new enrollment link',
        `It registers a passkey, once, for 24 hours; an earlier unused one ends. ${givesAccess}`,
      ],
      params: byName,
      answer: operatorLink,
      status: 201,
      refuses: [409],
      handle: async (request) => {
        const link = await acting(callerOf(request)).link(request.params.name);
        return toLink(await operators.store.get(request.params.name), link);
      },
    });
    route(app, 'patch', '/operators/:name', {
      needs: 'operators.change',
      about: ['operators', 'Give an operator another role', `From the next request on. ${givesAccess}`],
      params: byName,
      body: operatorChange,
      answer: doneAnswer,
      refuses: [409],
      handle: async (request) => {
        const { role } = request.body;
        const changed = await acting(callerOf(request)).setRole(request.params.name, parseRole(role));
        return { count: 1, sentence: `${changed.name} has the role ${role}.` };
      },
    });
    for (const [action, summary, details, sentence] of [
      [
        'disable',
        'Disable an operator',
        'Sessions, tokens and links end at once.',
        'The operator is disabled, and is signed out everywhere.',
      ],
      ['enable', 'Enable an operator', givesAccess, 'The operator can sign in again.'],
    ] as const)
      route(app, 'post', `/operators/:name/${action}`, {
        needs: 'operators.change',
        about: ['operators', summary, details],
        params: byName,
        answer: doneAnswer,
        refuses: [409],
        handle: async (request) => {
          await acting(callerOf(request))[action](request.params.name);
          return { count: 1, sentence };
        },
      });
    route(app, 'delete', '/operators/:name/sessions', {
      needs: 'operators.change',
      about: ['operators', 'End all sessions of an operator'],
      params: byName,
      answer: doneAnswer,
      handle: async (request) => {
        const count = await acting(callerOf(request)).endSessions(request.params.name);
        return { count, sentence: `${countOf(count, 'session')} ended.` };
      },
    });
    for (const [part, summary, sentence, end] of [
      ['sessions', 'End a session of an operator', 'The session has ended.', 'endSession'],
      ['tokens', 'Revoke a token of an operator', 'The token is revoked.', 'revokeToken'],
      [
        'passkeys',
        'Remove a passkey of an operator',
        'The passkey is removed; the sessions that began with it have ended.',
        'removePasskey',
      ],
    ] as const)
      route(app, 'delete', `/operators/:name/${part}/:id`, {
        needs: 'operators.change',
        about: ['operators', summary],
        params: Type.Object({ name, id }),
        answer: doneAnswer,
        handle: async (request) => {
          await acting(callerOf(request))[end](request.params.name, request.params.id);
          return { count: 1, sentence };
        },
      });
  };
}

function toEntry(one: FoundOperator, { operator: { id: callerId } }: SignedInOperator): OperatorEntry {
  const isEnabled = one.disabledAt === undefined;
  const hasWayIn = one.isExternal || one.passkeys > 0;
  const text = hasWayIn ? 'Active.' : 'Has no passkey yet.';
  return {
    name: one.name,
    role: one.role,
    organization: one.organizationId ?? null,
    isExternal: one.isExternal,
    isCaller: one.id === callerId,
    isEnabled,
    level: isEnabled ? (hasWayIn ? 'ok' : 'waiting') : 'none',
    text: isEnabled ? text : 'Disabled.',
    passkeys: one.passkeys,
    sessions: one.sessions,
    createdAt: isoTime(one.createdAt),
    disabledAt: isoOrNull(one.disabledAt),
  };
}
