import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createTemporaryFolder, startProgram } from '../support/processes.ts';

export interface HispChild {
  readonly baseUrl: string;
  readonly consoleUrl: string;
  readonly smtpPort: number;
  /** A token for each client; all may send as alice@direct.alpha.example. */
  readonly tokens: readonly string[];
  readonly dataFolder: string;
  /** Memory that the process holds at this moment. */
  residentBytes(): number;
  /** The processor time that it has used, all threads, in milliseconds. */
  cpuMs(): number;
  /** The most that it ever held. */
  peakResidentBytes(): number;
  metric(name: string): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a HISP as its own process. Linux only: memory is read from `/proc`. */
export async function startHispChild(clients: number, settings: readonly string[] = []): Promise<HispChild> {
  const folder = await createTemporaryFolder('admission');
  let ready: { baseUrl: string; consoleUrl: string; smtpPort: number; tokens: string[] } | undefined;
  const program = await startProgram(
    process.execPath,
    [path.join(import.meta.dirname, 'hisp-child.ts'), folder.path, String(clients), ...settings],
    {
      timeoutMs: 60_000,
      isReady: (output) => {
        const line = /^\{.*\}$/m.exec(output)?.[0];
        ready = line === undefined ? undefined : (JSON.parse(line) as typeof ready);
        return ready !== undefined;
      },
    },
  );
  const status = (name: string): number => {
    const text = readFileSync(`/proc/${program.pid}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1024;
  };
  if (ready === undefined) throw new Error('not ready');
  const { baseUrl, consoleUrl, smtpPort, tokens } = ready;
  return {
    baseUrl,
    consoleUrl,
    smtpPort,
    tokens,
    dataFolder: path.join(folder.path, 'data'),
    residentBytes: () => status('VmRSS'),
    cpuMs() {
      const text = readFileSync(`/proc/${program.pid}/stat`, 'latin1');
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      // utime and stime in ticks of 10 ms.
      return (Number(fields[11]) + Number(fields[12])) * 10;
    },
    peakResidentBytes: () => status('VmHWM'),
    async metric(name) {
      const text = await (await fetch(`${baseUrl}/metrics`)).text();
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (.*)$`, 'm').exec(text)?.[1] ?? NaN);
    },
    async stop() {
      await program.stop();
      await folder.remove();
    },
  };
}
