import { execFile } from 'node:child_process';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { formatPem, issueDirectCertificate } from '../../src/lib/pki/index.ts';
import type { ConsoleWorld } from './console-world.ts';

const run = promisify(execFile);
const dayMs = 86_400_000;

/** The certificate, as PEM, that the sandbox's authority issues for the request of a domain's key. */
export async function signRequest(world: ConsoleWorld, csr: string, domain: string): Promise<string> {
  const folder = path.join(path.dirname(world.sandbox.dataDir), 'pki');
  const request = path.join(folder, 'request.pem');
  await writeFile(request, csr);
  const { stdout } = await run('openssl', ['req', '-in', request, '-pubkey', '-noout']);
  const key = await readFile(path.join(folder, 'sandbox-ca.key'));
  const now = Date.now();
  const issued = issueDirectCertificate({
    boundTo: { domain },
    publicKey: createPublicKey(stdout),
    issuer: {
      certificate: world.sandbox.world.authority.certificate,
      privateKey: createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
    },
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + 1000 * dayMs),
    caIssuerUrls: [`${world.sandbox.world.side.baseUrl}/ca/sandbox.cer`],
    crlUrls: [`${world.sandbox.world.side.baseUrl}/ca/sandbox.crl`],
  });
  return formatPem('CERTIFICATE', issued.der);
}
