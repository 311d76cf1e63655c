import type { Storage } from '../../src/platform/index.ts';
import {
  findMessages,
  type FoundMessage,
  type MessageQuery,
} from '../../src/service/messaging/operator/find-messages.ts';
import { fillDatabase } from './many-messages.ts';
import { watchStatements } from './statements.ts';
import { createMigratedDatabase } from './storage.ts';

/** A page of a search of the messages that a test has invented, and the statements that it took. */
export interface ManyMessages {
  readonly storage: Storage;
  readonly take: ReturnType<typeof watchStatements>['take'];
  findPage(query: MessageQuery): ReturnType<typeof findMessages>;
  /** The first 200. */
  find(query: Omit<MessageQuery, 'limit'>): Promise<readonly FoundMessage[]>;
}

const audit = { find: () => Promise.resolve([]) };

/** Runs `work` with `count` invented messages. */
export async function withManyMessages(
  count: number,
  work: (messages: ManyMessages) => Promise<void>,
): Promise<void> {
  const database = await createMigratedDatabase();
  await fillDatabase(database.location, count);
  const storage = await database.open();
  try {
    const { watched, take } = watchStatements(storage);
    const findPage = (query: MessageQuery): ReturnType<typeof findMessages> =>
      findMessages(watched, audit, query);
    await work({
      storage,
      take,
      findPage,
      find: async (query) => (await findPage({ ...query, limit: 200 })).items,
    });
  } finally {
    await storage.close();
  }
}
