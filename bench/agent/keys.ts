import { readPeerFile, readPeerKey } from '../../test/peer-messages/peer-files.ts';
import type { KeyBytes } from '../../src/lib/direct/index.ts';
import { readCertificate, type Certificate } from '../../src/lib/pki/index.ts';
import type { DecryptionKey } from '../../src/lib/smime/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';

/** RSA-2048 test keys on both sides. */
export const senderKey: DecryptionKey = readPeerKey('alice');
export const recipientKey: DecryptionKey = readPeerKey('bob');
export const sender = parseDirectAddress('alice@direct.alpha.example');
export const recipient = parseDirectAddress('bob@direct.beta.example');
export const at = new Date('2026-11-21T10:00:00Z');

/** The anchors of each side. */
export const anchorsOfRecipient: readonly Certificate[] = [readCertificate(readPeerFile('pki/alphaCA.pem'))];
export const anchorsOfSender: readonly Certificate[] = [readCertificate(readPeerFile('pki/betaCA.pem'))];

export function toKeyBytes({ certificate, privateKey }: DecryptionKey): KeyBytes {
  return { certificate: certificate.der, privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }) };
}
