/**
 * Processor time of this process in milliseconds, for bounds on work that an attacker can cause: unlike time on the wall it does not grow
 * with the load of the machine.
 */
export async function processorMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
