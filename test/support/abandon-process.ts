/** A process that is killed while a process of its own works for it, whose id it prints. */
import { runInProcess } from '../../src/core/threads/index.ts';

await runInProcess<string, unknown, number>(new URL('./process-script.ts', import.meta.url), 'block', {
  onNote: (pid) => void process.stdout.write(`${pid}\n`),
});
