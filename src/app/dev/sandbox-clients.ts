import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { Hisp } from '../server/index.ts';
import type { EdgeCredentials } from './edge-client.ts';
import { parseKept, readKept } from './read-kept.ts';

export interface SandboxClientRequest {
  readonly hisp: Hisp;
  /** JSON file that keeps the secret between starts, mode 0600. */
  readonly file: string;
  readonly name: string;
  /** `user@domain` or `@domain`. */
  readonly directAddresses: readonly string[];
}

/** The client of a file; created at its HISP the first time. */
export async function ensureClient(request: SandboxClientRequest): Promise<EdgeCredentials> {
  const { hisp, file } = request;
  if (existsSync(file)) {
    const { clientId, clientSecret } = await readKept(file, parseKept<Omit<EdgeCredentials, 'baseUrl'>>);
    return { baseUrl: hisp.baseUrl, clientId, clientSecret };
  }
  const issued = await hisp.oauth.clients.create({
    name: request.name,
    scopes: ['provider-directory', 'messaging.api', 'provisioning', 'forwarding'],
    directAddresses: request.directAddresses,
    dataUseAcceptedAt: new Date(),
  });
  const credentials = { clientId: issued.clientId, clientSecret: issued.clientSecret };
  await writeFile(file, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  return { baseUrl: hisp.baseUrl, ...credentials };
}
