import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readCertificate, readPrivateKey } from '../../src/lib/pki/index.ts';
import type { DecryptionKey } from '../../src/lib/smime/index.ts';

const folder = path.join(import.meta.dirname, '../fixtures/peer-messages');

/** A file of the peer messages, by its path in their folder. */
export function readPeerFile(name: string): Buffer {
  return readFileSync(path.join(folder, name));
}

/** A certificate and its private key by their common name, for example `alice`. */
export function readPeerKey(name: string): DecryptionKey {
  return {
    certificate: readCertificate(readPeerFile(`pki/${name}.pem`)),
    privateKey: readPrivateKey(readPeerFile(`pki/${name}.key`)),
  };
}

/** The absolute path of a file of the peer messages, for other programs. */
export function peerPath(name: string): string {
  return path.join(folder, name);
}

export function listPeerFiles(subfolder: string): string[] {
  return readdirSync(path.join(folder, subfolder)).filter((name) => name.endsWith('.eml'));
}

export interface PeerCase {
  readonly file: string;
  readonly name: string;
  readonly recipientKey: string;
  readonly recipientCert: string;
  readonly expected: 'accept' | 'reject' | 'either';
}

/** The cases of the `inbound` folder. */
export function readPeerCases(): readonly PeerCase[] {
  const index = JSON.parse(readPeerFile('cases.json').toString('utf8')) as {
    readonly inbound: readonly PeerCase[];
  };
  return index.inbound;
}
