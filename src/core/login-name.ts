import { userInfo } from 'node:os';

/**
 * The name of the user who runs this process; `uid N` for a number without a name, with which a container may
 * run.
 */
export function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
