import { readFile } from 'node:fs/promises';
import {
  readCertificate,
  readCertificates,
  readPrivateKey,
  type Certificate,
} from '../../../lib/pki/index.ts';
import type { SigningKey } from '../../../lib/smime/index.ts';
import { AgentCommandError } from './command-error.ts';

/** Option value that may be given several times. */
export function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value];
}

/** All certificates of all files, each of which may hold several. */
export async function readCertificateFiles(files: readonly string[] = []): Promise<Certificate[]> {
  const contents = await Promise.all(files.map((file) => readFile(file)));
  return contents.flatMap((bytes) => readCertificates(bytes));
}

export interface KeyOptions {
  readonly key: readonly string[];
  readonly cert: readonly string[];
}

/** The first `--key` belongs to the first `--cert`, and so on. */
export async function readKeyPairs(options: KeyOptions): Promise<SigningKey[]> {
  if (options.key.length !== options.cert.length) {
    throw new AgentCommandError('AGENT_KEYS_UNPAIRED', 'give one --cert for each --key');
  }
  return Promise.all(
    options.key.map(async (keyFile, index) => ({
      privateKey: readPrivateKey(await readFile(keyFile)),
      certificate: await readEndEntity(options.cert[index] ?? ''),
    })),
  );
}

/** The first certificate of a file: PEM files often carry the chain behind it. */
async function readEndEntity(file: string): Promise<Certificate> {
  const bytes = await readFile(file);
  const [first] = readCertificates(bytes);
  return first ?? readCertificate(bytes);
}
