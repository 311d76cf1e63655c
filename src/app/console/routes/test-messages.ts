import { sentMessage, testMessage } from '../contract/index.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { originOf } from './acting.ts';

/** A test message of an operator; its page shows how far it comes. Low disk space refuses it, too. */
export function testMessageRoutes({
  messaging,
  disk,
}: Pick<ConsoleServices, 'messaging' | 'disk'>): ConsoleRoutes {
  return (app) => {
    route(app, 'post', '/test-messages', {
      needs: 'messages.send',
      about: [
        'messages',
        'Send a test message',
        'A fixed text without patient data, from a hosted address. With the same messageId it is sent once.',
      ],
      body: testMessage,
      answer: sentMessage,
      refuses: [409, 429],
      handle: async (request) => {
        disk.requireRoom();
        const { actor } = request.operator;
        const { messageId } = await messaging.sendTest(actor, request.body, originOf(request));
        return { messageId };
      },
    });
  };
}
