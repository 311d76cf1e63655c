import { hash, type KeyObject } from 'node:crypto';
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import {
  readCertificate,
  readCertificates,
  readPrivateKey,
  type Certificate,
} from '../../../lib/pki/index.ts';
import type { SigningKey } from '../../../lib/smime/index.ts';
import { AgentCommandError } from './command-error.ts';

// Read synchronously: a command does one thing at a time, and waiting for a file would cost more than reading
// it.

/** Option value that may be given several times. */
export function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value];
}

/** All certificates of all files, each of which may hold several. */
export function readCertificateFiles(files: readonly string[] = []): Certificate[] {
  return files.flatMap((file) => readCertificates(readFileSync(file)));
}

export interface KeyOptions {
  readonly key: readonly string[];
  readonly cert: readonly string[];
}

/** The first `--key` belongs to the first `--cert`, and so on. */
export function readKeyPairs(options: KeyOptions): SigningKey[] {
  if (options.key.length !== options.cert.length) {
    throw new AgentCommandError('AGENT_KEYS_UNPAIRED', 'give one --cert for each --key');
  }
  return options.key.map((keyFile, index) => ({
    privateKey: readKeyFile(keyFile),
    certificate: readEndEntity(options.cert[index] ?? ''),
  }));
}

/** Private keys cached, for many messages in one process. */
const maxCachedKeys = 50;
const cachedKeys = new LRUCache<string, KeyObject>({ max: maxCachedKeys });

function readKeyFile(file: string): KeyObject {
  const bytes = readFileSync(file);
  const name = hash('sha256', bytes, 'base64');
  const key = cachedKeys.get(name) ?? readPrivateKey(bytes);
  cachedKeys.set(name, key);
  return key;
}

/** The first certificate of a file: PEM files often carry the chain behind it. */
function readEndEntity(file: string): Certificate {
  const bytes = readFileSync(file);
  const [first] = readCertificates(bytes);
  return first ?? readCertificate(bytes);
}

/**
 * Overwrites a file. An existing one is truncated to its new length afterwards instead of being emptied
 * first: file systems flush a file that was emptied and rewritten (ext4's auto_da_alloc), which takes longer
 * than sealing a message.
 */
export function writeResult(file: string, bytes: Uint8Array): void {
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o666);
  try {
    let written = 0;
    while (written < bytes.length) written += writeSync(descriptor, bytes, written);
    if (fstatSync(descriptor).size !== bytes.length) ftruncateSync(descriptor, bytes.length);
  } finally {
    closeSync(descriptor);
  }
}
