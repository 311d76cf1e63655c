/** A process that is killed while another one, which it has started, works for it. It prints the id of that one. */
import { runInProcess } from '../../src/core/threads/index.ts';

await runInProcess<string, unknown, number>(new URL('./process-script.ts', import.meta.url), 'block', {
  onNote: (pid) => void process.stdout.write(`${pid}\n`),
});
