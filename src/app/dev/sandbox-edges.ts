import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { formatPem } from '../../lib/pki/index.ts';
import type { Hisp } from '../server/index.ts';
import type { SandboxAuthority } from './authority.ts';
import { choosePort } from './ports.ts';
import { parseKept, readKept } from './read-kept.ts';
import { edgeAddress } from './sandbox-names.ts';

/** Unlike those of real mail servers, these need no privileges. */
const preferredPorts = {
  line: 32_541,
  smtps: 8465,
  submission: 8587,
  imaps: 8993,
  imap: 8143,
  pop3s: 8995,
  pop3: 8110,
} as const;

/** A sandbox on another API port uses other edge ports, the same at each start. */
const usualHttpPort = 8080;
const firstOffset = 11;

/** Settings by which our HISP serves all edges on loopback, with a certificate of the sandbox's authority. */
export async function edgeSettings(
  folder: string,
  authority: SandboxAuthority,
  httpPort: number,
): Promise<Readonly<Record<string, string>>> {
  const keyFile = path.join(folder, 'edge.key');
  const certificateFile = path.join(folder, 'edge.pem');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { key, certificate } = await authority.issueServer();
  await writeFile(keyFile, key, { mode: 0o600 });
  await writeFile(certificateFile, certificate);
  const ports: Record<string, string> = {};
  for (const [index, [name, usual]] of Object.entries(preferredPorts).entries()) {
    const own = httpPort + firstOffset + index;
    const preferred = httpPort === usualHttpPort ? usual : own > 65_535 ? 0 : own;
    ports[`edge.${name}Port`] = String(httpPort === 0 ? 0 : await choosePort(['127.0.0.1'], preferred));
  }
  return {
    'edge.isServing': 'true',
    'edge.tlsKeyFile': keyFile,
    'edge.tlsCertificateFile': certificateFile,
    ...ports,
  };
}

/** How to reach the edges and sign in to them, for `credentials.json`. */
export interface SandboxEdge {
  readonly address: string;
  readonly username: string;
  readonly password: string;
  /** PEM file of the CA of their certificates. */
  readonly caFile: string;
  /** `host:port`; absent where the settings leave it out. */
  readonly line?: string;
  readonly smtps?: string;
  readonly submission?: string;
  readonly imaps?: string;
  readonly pop3s?: string;
}

/** The edge account of the demo client, made at the first start; its password is kept in a file. */
export async function ensureEdge(
  hisp: Hisp,
  folder: string,
  { clientId, authority }: { readonly clientId: string; readonly authority: SandboxAuthority },
): Promise<SandboxEdge> {
  const file = path.join(folder, 'edge-account.json');
  if (!existsSync(file)) {
    const { username, password } = await hisp.edges.accounts.create({
      clientId,
      username: edgeAddress,
      addresses: [edgeAddress],
      protocols: ['line', 'submission', 'imap', 'pop3'],
    });
    await writeFile(file, `${JSON.stringify({ username, password }, null, 2)}\n`, { mode: 0o600 });
  }
  const kept = await readKept(file, parseKept<{ readonly username: string; readonly password: string }>);
  const caFile = path.resolve(folder, 'edge-ca.pem');
  await writeFile(caFile, formatPem('CERTIFICATE', authority.certificate.der));
  const { line, smtps, submission, imaps, pop3s } = hisp.edgePorts;
  const named = { line, smtps, submission, imaps, pop3s };
  return {
    address: edgeAddress,
    ...kept,
    caFile,
    ...Object.fromEntries(
      Object.entries(named).flatMap(([name, port]) =>
        port === undefined ? [] : [[name, `127.0.0.1:${port}`]],
      ),
    ),
  };
}
