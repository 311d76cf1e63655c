/** Time until a change is searchable: a hosted address, and an increment of 1,000 rows. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { systemClock } from '../../src/core/index.ts';
import { openStream, recordFields, rollBack, type Directory } from '../../src/service/directory/index.ts';
import type { OpenDirectory } from './import.ts';
import { medianOf } from './median.ts';

/** From the call to the first search that finds it, and the processor time of all threads meanwhile. */
export interface Found {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

export interface ChangeTiming {
  readonly provisioned: Found;
  readonly incremented: Found;
}

const provisions = 5;
const incrementRows = 1000;

/** Makes the changes, measures, and takes them back. */
export async function measureChanges({
  directory,
  storage,
  audit,
  snapshotDir,
}: OpenDirectory): Promise<ChangeTiming> {
  const found: Found[] = [];
  for (let count = 0; count < provisions; count++) {
    const directAddress = `hosted${count}@direct.bench.example`;
    found.push(
      await untilFound(directory, directAddress, () =>
        directory.provision({ directAddress, lastName: 'Hosted', zip: '02114' }),
      ),
    );
    await directory.unprovision(directAddress);
    await directory.refresh();
  }
  const incremented = await untilFound(directory, addressOf(incrementRows - 1), async () => {
    await directory.importFiles({ files: incrementFile(), kind: 'incremental' });
  });
  await rollBack({ storage, audit, clock: systemClock, snapshotDir });
  await directory.refresh();
  return { provisioned: typical(found), incremented };
}

async function untilFound(
  directory: Directory,
  directAddress: string,
  change: () => Promise<void>,
): Promise<Found> {
  const startMs = performance.now();
  const cpuAtStart = process.cpuUsage();
  await change();
  while ((await directory.isListed(directAddress)) !== true) await sleep(5);
  const { user, system } = process.cpuUsage(cpuAtStart);
  return {
    seconds: (performance.now() - startMs) / 1000,
    cpuSeconds: (user + system) / 1e6,
  };
}

function typical(found: readonly Found[]): Found {
  return {
    seconds: medianOf(found.map(({ seconds }) => seconds)),
    cpuSeconds: medianOf(found.map(({ cpuSeconds }) => cpuSeconds)),
  };
}

const addressOf = (row: number): string => `increment${row}@direct.bench.example`;

function incrementFile(): ReturnType<typeof openStream> {
  const names = recordFields.map((field) => field.wireName);
  const rows = Array.from({ length: incrementRows }, (_, row) =>
    names.map((name) => (name === 'serv_direct_addr' ? addressOf(row) : name === 'org_zip' ? '02114' : '')),
  );
  const text = [names, ...rows].map((row) => row.join(',')).join('\n');
  return openStream(Readable.from([Buffer.from(`${text}\n`)]));
}

/** The figures as lines for a person. */
export function formatChanges({ provisioned, incremented }: ChangeTiming): string[] {
  return [
    `a hosted address to found: ${textOf(provisioned)}`,
    `an increment of ${incrementRows} rows to found: ${textOf(incremented)}`,
  ];
}

function textOf({ seconds, cpuSeconds }: Found): string {
  return `${seconds.toFixed(1)} s (processor time ${cpuSeconds.toFixed(1)} s)`;
}
