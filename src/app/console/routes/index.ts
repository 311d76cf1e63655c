import type { ConsoleRoutes, ConsoleServices } from '../types.ts';

/** The routes of the screens: one file for each screen. */
export function createScreenRoutes(_services: ConsoleServices): readonly ConsoleRoutes[] {
  return [];
}
