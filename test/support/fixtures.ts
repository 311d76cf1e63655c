import { existsSync } from 'node:fs';
import path from 'node:path';

const repositoryRoot = path.resolve(import.meta.dirname, '../..');

/**
 * The folder of reference fixtures, which is next to the checkout and is never part of it, or undefined.
 * `OPENHISP_FIXTURES` names another place.
 */
export function fixturesDir(): string | undefined {
  const folder = process.env['OPENHISP_FIXTURES'] ?? path.join(repositoryRoot, '../shared/fixtures');
  return existsSync(folder) ? folder : undefined;
}

/** Options for a test that reads the reference fixtures: skipped, with the reason printed, where they are missing. */
export function needsFixtures(): { skip: string | false } {
  return {
    skip: fixturesDir() === undefined ? 'the folder of reference fixtures is not on this machine' : false,
  };
}
