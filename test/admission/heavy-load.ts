import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Party, ProcessWorld } from '../processes/world.ts';

export type LoadKind = 'client' | 'peers';

interface TaskParty {
  readonly domain: string;
  readonly address: string;
  readonly certificate: string;
  readonly privateKey: string;
}

/** What `heavy-load-child.ts` needs to know; bytes in base64. */
export interface HeavyTask {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly smtpPort: number;
  /** Whose mailbox and client it uses, and from whom its mail comes. */
  readonly own: TaskParty;
  readonly far: TaskParty;
}

export interface HeavyLoad {
  begin(kind: LoadKind): void;
  /** How often each outcome was had. */
  readonly tally: Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

/** Is ready to load the receiver of the world when three large messages were offered to it. */
export async function prepareHeavyLoad({ sender, receiver }: ProcessWorld): Promise<HeavyLoad> {
  const { baseUrl, clientId, clientSecret, smtpPort } = receiver.ready;
  const task: HeavyTask = {
    baseUrl,
    clientId,
    clientSecret,
    smtpPort,
    own: toTask(receiver.party),
    far: toTask(sender.party),
  };
  const child = fork(path.join(import.meta.dirname, 'heavy-load-child.ts'), [JSON.stringify(task)]);
  let tally: Readonly<Record<string, number>> = {};
  const isPrepared = new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the load ended with ${code}`)));
    child.on('message', (told: typeof tally) => {
      tally = told;
      if (Object.values(tally).reduce((sum, times) => sum + times, 0) >= 3) resolve();
    });
  });
  await isPrepared;
  return {
    begin: (kind) => void child.send(kind),
    get tally() {
      return tally;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

function toTask({ domain, address, certificate, privateKey }: Party): TaskParty {
  return {
    domain,
    address,
    certificate: Buffer.from(certificate).toString('base64'),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
  };
}
