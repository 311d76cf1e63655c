import { totalmem } from 'node:os';

const smallMemoryBytes = 2_000_000_000;

// 0 or a huge number where nothing limits the process.
function findMemory() {
  const limit = process.constrainedMemory?.() ?? 0;
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/**
 * Options of Node for a process that serves. A message on its way lives for some hundred milliseconds and is mostly buffers. In
 * the usual young generation it is promoted before it ends, and each 64 MB of buffers, 40 messages of 100 kB, make V8 mark the
 * whole heap: a fifth of the processor time at 100 kB, half of it at 1 MB, and pauses of 100 ms and more. So the young
 * generation is larger, buffers count like any other memory, and the heap may be twice what lives in it before it is
 * marked. The price is memory, most of which the environment below saves again.
 *
 * A Node that does not know an option would not start, so those of V8 are for the version that they were tried with.
 *
 * With less than 2 GB for the process everything stays as Node has it: under large messages it then holds half as much (at most 440 MB
 * instead of 810, one client with all its allowances).
 */
export function servingOptions(version = process.versions.node, memoryBytes = findMemory()) {
  if (memoryBytes < smallMemoryBytes) return ['--max-semi-space-size=16'];
  const ofNode = ['--max-semi-space-size=64'];
  const ofV8 = [
    '--external-memory-accounted-in-global-limit',
    '--heap-growing-percent=100',
    '--initial-old-space-size=128',
  ];
  return version.startsWith('24.') ? [...ofNode, ...ofV8] : ofNode;
}

/**
 * Environment of the same process, which the GNU C library reads; others ignore it. Large buffers are mapped by themselves, so that
 * their memory goes back to the system when they are freed. The C library would raise its threshold to the largest one freed (up to
 * 32 MB), keep them in its arenas, and hold a third more memory while 64 messages of 1 MB are on their way.
 *
 * The directory index is read at random places of hundreds of megabytes. With pages of 2 MB, where the kernel gives them to who
 * asks, the processor finds them without walking its page tables: pages of 1000 records take a quarter less processor time.
 */
export const servingEnvironment = {
  MALLOC_MMAP_THRESHOLD_: '262144',
  GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1',
};

/** Environment of a command that loads a directory: the arrays of an index in the making are large and soon freed, too. */
export const loadingEnvironment = { MALLOC_MMAP_THRESHOLD_: servingEnvironment.MALLOC_MMAP_THRESHOLD_ };
