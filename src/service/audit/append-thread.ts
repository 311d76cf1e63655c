/** Runs in a worker thread: appends many events to the chain, through a connection of its own. */
import type { Kysely } from 'kysely';
import { serveTasks } from '../../core/index.ts';
import { openStorage, type Storage } from '../../platform/index.ts';
import { createAppender, type Appender, type TimedEvent } from './append.ts';
import type { AppendTask } from './append-bulk.ts';
import type { AuditTables } from './chain.ts';

let opened: { readonly storage: Storage; readonly append: Appender } | undefined;

async function open(location: AppendTask['location']): Promise<NonNullable<typeof opened>> {
  const storage = await openStorage(location);
  return { storage, append: createAppender(storage) };
}

async function appendAll({ location, events }: AppendTask): Promise<undefined> {
  const { storage, append } = (opened ??= await open(location));
  const parsed = JSON.parse(events) as readonly TimedEvent[];
  await storage.transaction((tx: Kysely<AuditTables>) => append(tx, parsed));
}

serveTasks(appendAll, () => []);
