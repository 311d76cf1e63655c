/** A real OpenLDAP server on loopback. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RunningServer } from './named.ts';
import { createTemporaryFolder, freePort, runProgram, startProgram } from './processes.ts';

export interface SlapdEntry {
  /** Attribute `mail`: an address or a domain. */
  readonly mail: string;
  readonly certificates: readonly Uint8Array[];
}

/** Starts `slapd` with one naming context and an inetOrgPerson for each entry, on a free port of 127.0.0.1. */
export async function startSlapd(entries: readonly SlapdEntry[], suffix = 'ou=dcdt'): Promise<RunningServer> {
  const folder = await createTemporaryFolder('slapd');
  const port = await freePort();
  const config = path.join(folder.path, 'slapd.conf');
  const ldif = path.join(folder.path, 'data.ldif');
  await mkdir(path.join(folder.path, 'db'));
  await writeFile(config, configuration(folder.path, suffix));
  await writeFile(ldif, ldifText(entries, suffix));
  try {
    const loaded = await runProgram('slapadd', ['-f', config, '-l', ldif]);
    if (loaded.status !== 0) throw new Error(`slapadd failed: ${loaded.stderr.toString()}`);
    const program = await startProgram('slapd', ['-d', '0', '-h', `ldap://127.0.0.1:${port}`, '-f', config], {
      isReady: port,
    });
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

function configuration(folder: string, suffix: string): string {
  return `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
pidfile ${folder}/slapd.pid
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "${suffix}"
rootdn "cn=admin,${suffix}"
directory ${folder}/db
index objectClass eq
index mail eq
`;
}

function ldifText(entries: readonly SlapdEntry[], suffix: string): string {
  const [attribute = 'ou', value = 'dcdt'] = suffix.split(',')[0]?.split('=') ?? [];
  const objectClass = attribute === 'o' ? 'organization' : 'organizationalUnit';
  const root = [`dn: ${suffix}`, `objectClass: ${objectClass}`, `${attribute}: ${value}`].join('\n');
  const people = entries.map(({ mail, certificates }, index) =>
    [
      `dn: cn=entry${index},${suffix}`,
      'objectClass: inetOrgPerson',
      `cn: entry${index}`,
      'sn: entry',
      `mail: ${mail}`,
      ...certificates.map((der) => `userCertificate;binary:: ${Buffer.from(der).toString('base64')}`),
    ].join('\n'),
  );
  return `${[root, ...people].join('\n\n')}\n`;
}
