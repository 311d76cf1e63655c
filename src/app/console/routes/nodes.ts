import { listNodes } from '../../../platform/index.ts';
import { listServedGenerations } from '../../../service/directory/index.ts';
import { nodeList, type Level } from '../contract/index.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { isoTime } from './formats.ts';

/** The route of the nodes over this database. */
export function nodeRoutes({ storage, nodes, version }: ConsoleServices): ConsoleRoutes {
  return (app) => {
    route(app, 'get', '/nodes', {
      needs: 'settings.read',
      about: [
        'nodes',
        'List nodes',
        'Those of the last day that did not end in order, running ones first. None leads: each does what is due.',
      ],
      answer: nodeList,
      handle: async () => {
        const [all, served] = await Promise.all([listNodes(storage), listServedGenerations(storage)]);
        const sorted = all.toSorted((one, other) => Number(other.isRunning) - Number(one.isRunning));
        return {
          result: sorted.map(({ id, host, isRunning, serves, ...row }) => {
            const generation = served.byNode.get(id) ?? null;
            const isActive = generation === (served.active ?? null);
            return {
              id,
              isThis: id === nodes.id,
              host,
              version: row.version,
              isRunning,
              ...describe({ isRunning, isActive, hasOtherVersion: row.version !== version }),
              serves: serves.split(',').filter((name) => name !== ''),
              directory: { generation, isActive },
              startedAt: isoTime(new Date(Number(row.started_at))),
              heartbeatAt: isoTime(new Date(Number(row.seen_at))),
            };
          }),
        };
      },
    });
  };
}

function describe(node: {
  readonly isRunning: boolean;
  readonly isActive: boolean;
  readonly hasOtherVersion: boolean;
}): { readonly level: Level; readonly text: string } {
  if (!node.isRunning)
    return { level: 'failed', text: 'Gone without ending in order: another node takes over its work.' };
  if (node.hasOtherVersion) return { level: 'warning', text: 'Runs another version than this node.' };
  if (!node.isActive) return { level: 'waiting', text: 'Takes over newer directory data.' };
  return { level: 'ok', text: 'Running.' };
}
