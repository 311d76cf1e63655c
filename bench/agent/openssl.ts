import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { peerPath } from '../../test/peer-messages/peer-files.ts';

export interface OpensslCost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** Wraps, signs and encrypts with two `openssl cms` processes, or decrypts and verifies with two; the mean of a few runs. */
export function measureOpenssl(
  work: 'out' | 'in',
  plain: Uint8Array,
  sealed: Uint8Array,
  folder: string,
): OpensslCost {
  const wrapped = Buffer.concat([Buffer.from('Content-Type: message/rfc822\r\n\r\n', 'latin1'), plain]);
  writeFileSync(path.join(folder, 'plain'), wrapped);
  writeFileSync(path.join(folder, 'sealed'), sealed);
  const commands = work === 'out' ? outCommands(folder) : inCommands(folder);
  const runs = plain.length > 10_000_000 ? 3 : 8;
  const script = `${Array.from({ length: runs }, () => commands.join(' && ')).join('\n')}\ntimes`;
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', script], { encoding: 'utf8' });
  const wallMs = performance.now() - start;
  if (status !== 0) throw new Error(stderr);
  return { wallMs: wallMs / runs, cpuMs: childCpuMs(stdout) / runs };
}

function outCommands(folder: string): string[] {
  const at = (name: string) => path.join(folder, name);
  const signer = `-signer ${peerPath('pki/alice.pem')} -inkey ${peerPath('pki/alice.key')}`;
  const oaep = '-keyopt rsa_padding_mode:oaep -keyopt rsa_oaep_md:sha256 -keyopt rsa_mgf1_md:sha256';
  return [
    `openssl cms -sign -binary -md sha256 ${signer} -in ${at('plain')} -out ${at('signed')}`,
    `openssl cms -encrypt -binary -aes-256-cbc -recip ${peerPath('pki/bob.pem')} ${oaep} -in ${at('signed')} -out ${at('out')}`,
  ];
}

function inCommands(folder: string): string[] {
  const at = (name: string) => path.join(folder, name);
  const key = `-recip ${peerPath('pki/bob.pem')} -inkey ${peerPath('pki/bob.key')}`;
  return [
    `openssl cms -decrypt -binary ${key} -in ${at('sealed')} -out ${at('opened')}`,
    `openssl cms -verify -CAfile ${peerPath('pki/alphaCA.pem')} -in ${at('opened')} -out ${at('verified')} 2>/dev/null`,
  ];
}

/** The second line of the shell's `times`: user and system time of its children, as 0m1.234s. */
function childCpuMs(output: string): number {
  const line = output.trim().split('\n').at(-1) ?? '';
  return [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + (Number(minutes) * 60 + Number(seconds)) * 1000,
    0,
  );
}
