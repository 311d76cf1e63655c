import path from 'node:path';
import type { Closable } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';
import { holdFile } from './hold-file.ts';

/**
 * Holds a data folder for one server process. Two servers in one folder would share a node id and take each
 * other's leases for their own left-overs. Throws PLATFORM_DATA_DIR_BUSY. Commands may work on the folder
 * meanwhile.
 */
export function holdDataDir(dataDir: string): Closable {
  const held = holdFile(path.join(dataDir, 'server.lock'));
  if (held === undefined)
    throw new PlatformError('PLATFORM_DATA_DIR_BUSY', `another server is running in ${dataDir}`);
  return held;
}
