import { Type } from 'typebox';
import { parseDirectAddress } from '../../../lib/values/index.ts';
import { exchange, playground, playgroundSend, playgroundSent } from '../contract/index.ts';
import { ConsoleError } from '../errors.ts';
import { apiPrefix } from '../guard.ts';
import type { ConsoleRoutes, ConsoleServices, PlaygroundPort } from '../types.ts';
import { describe, refusals } from './describe.ts';

const exchangeQuery = Type.Object(
  { after: Type.Optional(Type.Integer({ minimum: 0 })) },
  { additionalProperties: false },
);
const messageParams = Type.Object({ messageId: Type.String({ maxLength: 100 }) });

/** Sends with sample documents, and what is seen of them on the wire; everywhere but in the sandbox there is none. */
export function playgroundRoutes(services: Pick<ConsoleServices, 'findPlayground'>): ConsoleRoutes {
  const find = (): PlaygroundPort => {
    const port = services.findPlayground();
    if (port === undefined)
      throw new ConsoleError('CONSOLE_NOT_FOUND', 'the playground is part of the sandbox alone');
    return port;
  };
  return (app) => {
    const config = { permission: 'playground' } as const;
    app.get(
      `${apiPrefix}/playground`,
      {
        config,
        schema: {
          ...describe('playground', 'List partners and sample documents', 'Only in the sandbox.'),
          response: { 200: playground, ...refusals(404) },
        },
      },
      async () => find().describe(),
    );
    app.post(
      `${apiPrefix}/playground/send`,
      {
        config,
        schema: {
          ...describe('playground', "Send a sample as the sandbox's client"),
          body: playgroundSend,
          response: { 200: playgroundSent, ...refusals(400, 404) },
        },
      },
      async (request) => {
        const to = parseDirectAddress(request.body.to);
        const messageId = await find().send({ ...request.body, to });
        if (messageId === undefined)
          throw new ConsoleError('CONSOLE_REQUEST_INVALID', 'no sample document has that name', {
            problems: [
              { field: 'sample', reason: 'unknown', detail: 'sample: no sample document has that name.' },
            ],
          });
        return { messageId };
      },
    );
    app.get(
      `${apiPrefix}/playground/exchange/:messageId`,
      {
        config,
        schema: {
          ...describe('playground', 'Show what was seen of a message on the wire'),
          params: messageParams,
          querystring: exchangeQuery,
          response: { 200: exchange, ...refusals(400, 404) },
        },
      },
      async (request) => {
        const seen = await find().exchange(request.params.messageId, request.query.after ?? 0);
        if (seen === undefined)
          throw new ConsoleError('CONSOLE_NOT_FOUND', 'no message of that id was sent from the playground');
        return seen;
      },
    );
  };
}
