import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Ports at which other HISPs reach the mail servers and name servers of the domains. */
export interface WorldPorts {
  readonly smtp: number;
  readonly dns: number;
}

/** On the Internet. */
const usualPorts: WorldPorts = { smtp: 25, dns: 53 };

// Only a sandbox writes the file: its HISPs share free ports on loopback addresses.
const fileName = 'sandbox-ports.json';

export async function writeWorldPorts(dataDir: string, ports: WorldPorts): Promise<void> {
  await writeFile(path.join(dataDir, fileName), `${JSON.stringify(ports)}\n`, { mode: 0o600 });
}

/**
 * The ports of the sandbox that the data folder belongs to, otherwise 25 and 53. An unreadable file counts as
 * none.
 */
export async function readWorldPorts(dataDir: string): Promise<WorldPorts> {
  try {
    const read = JSON.parse(await readFile(path.join(dataDir, fileName), 'utf8')) as Partial<WorldPorts>;
    return { smtp: portOf(read.smtp) ?? usualPorts.smtp, dns: portOf(read.dns) ?? usualPorts.dns };
  } catch {
    return usualPorts;
  }
}

function portOf(value: unknown): number | undefined {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536 ? Number(value) : undefined;
}
