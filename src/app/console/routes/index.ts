import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { createActing } from './acting.ts';
import { messageRoutes } from './messages.ts';
import { playgroundRoutes } from './playground.ts';
import { queueRoutes } from './queue.ts';

/** The routes of the screens: one file for each screen. */
export function createScreenRoutes(services: ConsoleServices): readonly ConsoleRoutes[] {
  const acting = createActing(services);
  return [messageRoutes(services, acting), queueRoutes(acting), playgroundRoutes(services)];
}
