import { Type } from 'typebox';
import { parseDirectAddress } from '../../../lib/values/index.ts';
import { exchange, playground, playgroundSend, sentMessage, queryOf } from '../contract/index.ts';
import { route } from '../route.ts';
import { ConsoleError } from '../errors.ts';
import type { ConsoleRoutes, ConsoleServices, PlaygroundPort } from '../types.ts';

const exchangeQuery = queryOf({ after: Type.Optional(Type.Integer({ minimum: 0 })) });

/**
 * Routes of the playground: sends of sample documents, and their events on the wire. Only in the sandbox; 404
 * elsewhere.
 */
export function playgroundRoutes(services: Pick<ConsoleServices, 'findPlayground'>): ConsoleRoutes {
  const find = (): PlaygroundPort => {
    const port = services.findPlayground();
    if (port === undefined)
      throw new ConsoleError('CONSOLE_NOT_FOUND', 'the playground exists only in the sandbox');
    return port;
  };
  return (app) => {
    route(app, 'get', '/playground', {
      needs: 'messages.send',
      about: ['playground', 'List partners and sample documents', 'Only in the sandbox.'],
      answer: playground,
      refuses: [404],
      handle: async () => find().describe(),
    });
    route(app, 'post', '/playground/send', {
      needs: 'messages.send',
      about: ['playground', "Send a sample as the sandbox's client"],
      body: playgroundSend,
      answer: sentMessage,
      refuses: [404],
      handle: async (request) => {
        const to = parseDirectAddress(request.body.to);
        const messageId = await find().send({ ...request.body, to });
        if (messageId === undefined)
          throw new ConsoleError('CONSOLE_REQUEST_INVALID', 'unknown sample document', {
            problems: [{ field: 'sample', reason: 'unknown', detail: 'sample: unknown sample document.' }],
          });
        return { messageId };
      },
    });
    route(app, 'get', '/playground/exchange/:messageId', {
      needs: 'messages.send',
      about: ['playground', 'Show the events of a message on the wire'],
      query: exchangeQuery,
      answer: exchange,
      handle: async (request) => {
        const seen = await find().exchange(request.params.messageId, request.query.after ?? 0);
        if (seen === undefined)
          throw new ConsoleError('CONSOLE_NOT_FOUND', 'the playground sent no message with this id');
        return seen;
      },
    });
  };
}
