/** A process that closes threads at every moment of a task, and has nothing else that keeps it alive. */
import { createTaskThreads } from '../../src/core/threads/index.ts';

const script = new URL('./task-threads-script.ts', import.meta.url);
for (let turns = 0; turns < 12; turns++) {
  const pool = createTaskThreads<Uint8Array, Uint8Array>(script, { staysReady: true });
  await pool.run(Uint8Array.of(1));
  for (let task = 0; task < 50; task++) pool.run(Uint8Array.of(1)).catch(() => {});
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  await pool.close();
}
process.stdout.write('closed');
