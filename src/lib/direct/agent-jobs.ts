import { hash, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { readCertificate, readPrivateKey } from '../pki/index.ts';
import type { KeyTransport, SendingCipher, SigningKey } from '../smime/index.ts';
import type { DirectAddress } from '../values/index.ts';
import { openMessage, type OpenedMessage } from './open-message.ts';
import type { MessagePolicy } from './policy.ts';
import { sealMessage, type SealedMessage } from './seal-message.ts';

/** A key pair as bytes, as it crosses to another thread. */
export interface KeyBytes {
  /** DER. */
  readonly certificate: Uint8Array;
  /** PKCS#8 DER. */
  readonly privateKey: Uint8Array;
}

/** `sealMessage` in plain data. */
export interface SealJob {
  readonly kind: 'seal';
  readonly message: Uint8Array;
  readonly signers: readonly KeyBytes[];
  readonly recipients: readonly {
    readonly address: DirectAddress;
    /** DER. */
    readonly certificates: readonly Uint8Array[];
    readonly keyTransport?: KeyTransport;
  }[];
  readonly atMs: number;
  readonly extraCertificates?: readonly Uint8Array[];
  readonly contentCipher?: SendingCipher;
}

/** `openMessage` in plain data. */
export interface OpenJob {
  readonly kind: 'open';
  readonly message: Uint8Array;
  readonly keys: readonly KeyBytes[];
  readonly policy?: Partial<MessagePolicy>;
}

/** Runs jobs in the thread that created it. */
export interface AgentJobRunner {
  seal(job: SealJob): SealedMessage;
  open(job: OpenJob): OpenedMessage;
}

/** Private keys cached: reading one costs a tenth of a signature. */
const maxCachedKeys = 500;

/**
 * Creates the CPU half of the agent for a worker thread: jobs and results are plain data, and private keys
 * are cached by the hash of their bytes. Errors: those of `sealMessage` and `openMessage`,
 * `PKI_CERTIFICATE_MALFORMED`, `PKI_KEY_MALFORMED`.
 */
export function createAgentJobRunner(): AgentJobRunner {
  const privateKeys = new LRUCache<string, KeyObject>({ max: maxCachedKeys });
  const toPrivateKey = (bytes: Uint8Array): KeyObject => {
    const key = hash('sha256', bytes, 'base64');
    const found = privateKeys.get(key) ?? readPrivateKey(bytes);
    privateKeys.set(key, found);
    return found;
  };
  const toKey = ({ certificate, privateKey }: KeyBytes): SigningKey => ({
    certificate: readCertificate(certificate),
    privateKey: toPrivateKey(privateKey),
  });
  return {
    seal: ({ atMs, signers, recipients, extraCertificates, ...rest }) =>
      sealMessage({
        ...rest,
        at: new Date(atMs),
        signers: signers.map(toKey),
        recipients: recipients.map((one) => ({
          ...one,
          certificates: one.certificates.map((der) => readCertificate(der)),
        })),
        ...(extraCertificates && { extraCertificates: extraCertificates.map((der) => readCertificate(der)) }),
      }),
    open: ({ keys, ...rest }) => openMessage({ ...rest, keys: keys.map(toKey) }),
  };
}
