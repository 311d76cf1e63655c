import type { Command } from 'commander';
import { listNodes } from '../../platform/index.ts';
import { listServedGenerations } from '../../service/directory/index.ts';
import type { CliContext } from './context.ts';
import { printList, toRow, type JsonOption } from './print-list.ts';
import { withInstallation } from './with-installation.ts';

interface ListedNode {
  readonly id: string;
  readonly host: string;
  readonly version: string;
  readonly isRunning: boolean;
  readonly serves: readonly string[];
  /** Id of the load whose data it serves; null without data. */
  readonly directoryGeneration: number | null;
  readonly startedAt: string;
  readonly heartbeatAt: string;
}

/** Adds `node`: the processes that serve from this database (Decision 0022). */
export function addNodeCommands(node: Command, context: CliContext): void {
  node
    .command('list')
    .description('list the nodes of the last day that did not end in order')
    .option('--json', 'as JSON')
    .action((options: JsonOption) =>
      withInstallation(context, async ({ storage }) => {
        const served = await listServedGenerations(storage);
        const nodes = (await listNodes(storage)).map(
          ({ id, host, version, isRunning, serves, ...row }): ListedNode => ({
            id,
            host,
            version,
            isRunning,
            serves: serves.split(',').filter((name) => name !== ''),
            directoryGeneration: served.byNode.get(id) ?? null,
            startedAt: new Date(Number(row.started_at)).toISOString(),
            heartbeatAt: new Date(Number(row.seen_at)).toISOString(),
          }),
        );
        printList(context, options, nodes, (node) =>
          toRow([
            node.id,
            node.host,
            node.version,
            node.isRunning ? 'running' : 'gone',
            node.serves.join(','),
            `generation ${node.directoryGeneration ?? 'none'}`,
            `heartbeat ${node.heartbeatAt}`,
          ]),
        );
      }),
    );
}
