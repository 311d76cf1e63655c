/** Two HISPs to be killed, on SQLite, or on a PostgreSQL server that can be killed too, where the sender is two nodes. */
import path from 'node:path';
import { startPostgres } from '../support/postgres.ts';
import { createDatabaseAt } from '../support/storage.ts';
import type { KillOptions } from './kills.ts';
import { startProcessWorld, type ProcessWorld } from './world.ts';

export interface KillWorld {
  readonly world: ProcessWorld;
  readonly options: Pick<KillOptions, 'secondNode' | 'restartDatabase' | 'folder'>;
  close(): Promise<void>;
}

const settings = {
  'delivery.retryMinutes': '0.01,0.02,0.05',
  'delivery.leaseSeconds': '3',
  'delivery.probeSeconds': '1',
};

export async function startKillWorld(folder: string, onPostgres: boolean): Promise<KillWorld> {
  if (!onPostgres) {
    const world = await startProcessWorld({ folder, settings: () => settings });
    return { world, options: { folder }, close: () => world.close() };
  }
  const postgres = await startPostgres();
  const urls = {
    sender: await createDatabaseAt(postgres, 'sender'),
    receiver: await createDatabaseAt(postgres, 'receiver'),
  };
  const world = await startProcessWorld({
    folder,
    settings: (who) => ({
      ...settings,
      'storage.url': urls[who],
      'vault.masterKeyFile': path.join(folder, `${who}.key`),
    }),
  });
  let restarts = 0;
  return {
    world,
    options: {
      folder,
      secondNode: await world.addSender(),
      // A crash and an orderly end in turn, restarted at once or after one second.
      restartDatabase: () =>
        postgres.restart(restarts++ % 2 === 0 ? 'immediate' : 'fast', restarts % 3 === 0 ? 1000 : 0),
    },
    async close() {
      await world.close();
      await postgres.stop();
    },
  };
}
