import { once } from 'node:events';
import { createServer } from 'node:net';

/** True if a TCP listener can be opened there now. */
export async function isPortFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

/** The preferred port if it is free on every host, else one that the system gives and that is. */
export async function choosePort(hosts: readonly string[], preferred: number): Promise<number> {
  for (const port of [preferred, ...(await systemPorts(20))]) {
    const free = await Promise.all(hosts.map((host) => isPortFree(host, port)));
    if (port !== 0 && free.every(Boolean)) return port;
  }
  throw new Error(`no port is free on all of ${hosts.join(', ')}`);
}

async function systemPorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let index = 0; index < count; index++) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    const address = server.address();
    if (typeof address === 'object' && address !== null) ports.push(address.port);
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
  return ports;
}
