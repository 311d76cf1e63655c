import { legalHold, legalHoldRelease, newLegalHold } from '../contract/index.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes } from '../types.ts';
import type { Acting } from './acting.ts';
import { toLegalHold } from './formats.ts';

/** Routes that add and release legal holds; messages and addresses show those that concern them. */
export function legalHoldRoutes(acting: Acting): ConsoleRoutes {
  return (app) => {
    route(app, 'post', '/legal-holds', {
      needs: 'legal-hold.change',
      about: [
        'messages',
        'Put a message, an address or an organization on legal hold',
        'Retention deletes nothing of the message, or of all messages from and to the address or the addresses of the organization, until it is released.',
      ],
      body: newLegalHold,
      answer: legalHold,
      status: 201,
      refuses: [404, 409],
      handle: async (request) => {
        const { kind, name, reason } = request.body;
        const what = {
          message: { messageId: name },
          address: { address: name },
          organization: { organization: name },
        }[kind];
        const hold = await acting(request).messaging.addLegalHold(what, reason);
        return toLegalHold(hold);
      },
    });
    route(app, 'post', '/legal-holds/:holdId/release', {
      needs: 'legal-hold.change',
      about: ['messages', 'Release a legal hold', 'Retention deletes what is old within minutes.'],
      body: legalHoldRelease,
      answer: legalHold,
      handle: async (request) =>
        toLegalHold(
          await acting(request).messaging.releaseLegalHold(request.params.holdId, request.body.reason),
        ),
    });
  };
}
