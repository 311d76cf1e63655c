/** A real BIND as authoritative server on loopback. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTemporaryFolder, freePort, startProgram } from './processes.ts';

export interface NamedZone {
  readonly name: string;
  /** Lines of a zone file below the SOA and NS records, for example `bob IN CERT PKIX 0 0 MII…`. */
  readonly lines: readonly string[];
  /** False if the lines name the zone's name servers. */
  readonly hasOwnServer?: boolean;
}

export interface RunningServer {
  readonly port: number;
  /** Its output so far. */
  output(): string;
  stop(): Promise<void>;
}

/** Starts `named` for the zones, not recursive, on a free port of 127.0.0.1 over UDP and TCP. */
export async function startNamed(
  zones: readonly NamedZone[],
  options: readonly string[] = [],
): Promise<RunningServer> {
  const folder = await createTemporaryFolder('named');
  const port = await freePort();
  for (const zone of zones) await writeFile(path.join(folder.path, `${zone.name}.zone`), zoneFile(zone));
  const config = path.join(folder.path, 'named.conf');
  await writeFile(config, configuration(folder.path, port, zones, options));
  try {
    // -g keeps it in the foreground and sends its log to us.
    const program = await startProgram('named', ['-g', '-4', '-n', '1', '-c', config], { isReady: port });
    return {
      port,
      output: program.output,
      stop: async () => {
        await program.stop();
        await folder.remove();
      },
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

/** One line of a zone file with a certificate; the name is relative to the zone unless it ends in a dot, `@` its apex. */
export function certLine(name: string, certificateDer: Uint8Array, type = 'PKIX'): string {
  return `${name === '@' ? name : escapeZoneName(name)} IN CERT ${type} 0 0 ${Buffer.from(certificateDer).toString('base64')}`;
}

function escapeZoneName(name: string): string {
  return name.replaceAll(/["();@$\\]/g, '\\$&');
}

function zoneFile({ lines, hasOwnServer = true }: NamedZone): string {
  return [
    '$TTL 300',
    '@ IN SOA ns hostmaster 1 3600 600 86400 60',
    ...(hasOwnServer ? ['@ IN NS ns', 'ns IN A 127.0.0.1'] : []),
    ...lines,
    '',
  ].join('\n');
}

function configuration(
  folder: string,
  port: number,
  zones: readonly NamedZone[],
  options: readonly string[],
): string {
  const zoneTexts = zones.map(
    (zone) => `zone "${zone.name}" { type primary; file "${folder}/${zone.name}.zone"; };`,
  );
  return `options {
  directory "${folder}";
  listen-on port ${port} { 127.0.0.1; };
  listen-on-v6 { none; };
  pid-file "${folder}/named.pid";
  session-keyfile "${folder}/session.key";
  managed-keys-directory "${folder}";
  ${options.some((line) => line.startsWith('recursion')) ? '' : 'recursion no;'}
  dnssec-validation no;
  allow-query { any; };
  allow-transfer { none; };
  ${options.join('\n  ')}
};
controls { };
${zoneTexts.join('\n')}
`;
}
