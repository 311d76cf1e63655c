import { readFileSync } from 'node:fs';

/** A process that passes no signal on and that npm puts before what it runs. */
const shells = new Set(['sh', 'dash', 'bash', 'ash', 'busybox', 'zsh', 'ksh']);
/** More processes than these are between no program and its npm. */
const maxLinks = 8;

/**
 * The processes between this one and the program that has started it, of which each must stay the child of
 * the next. npx leaves a shell in between, and an older Node is one more: when npx is killed, both go on, and
 * the program has the same parent as before.
 */
export interface ParentChain {
  isBroken(): boolean;
}

/**
 * Remembers the chain as it is. On systems without `/proc` it is the parent alone.
 * @param isStarter True if the parent is our own starter.
 */
export function rememberParents(isStarter: boolean): ParentChain {
  const links: { readonly pid: number; readonly parent: number }[] = [];
  let pid = process.ppid;
  for (let isPassed = isStarter; links.length < maxLinks; isPassed = false) {
    const found = readProcess(pid);
    if (found === undefined || pid <= 1 || (!isPassed && !shells.has(found.name))) break;
    links.push({ pid, parent: found.parent });
    pid = found.parent;
  }
  const own = process.ppid;
  return {
    isBroken: () =>
      process.ppid !== own || links.some((link) => readProcess(link.pid)?.parent !== link.parent),
  };
}

function readProcess(pid: number): { readonly name: string; readonly parent: number } | undefined {
  try {
    // proc(5): pid (name) state ppid …; a name may contain anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const end = stat.lastIndexOf(')');
    const parent = Number(stat.slice(end + 2).split(' ')[1]);
    return { name: stat.slice(stat.indexOf('(') + 1, end), parent };
  } catch {
    return undefined;
  }
}
