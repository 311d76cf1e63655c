/** Keys and certificates for the examples: a certificate authority, and a Direct address that it vouches for. */
import type { KeyObject } from 'node:crypto';
import {
  createAuthority,
  createKeyPair,
  issueDirectCertificate,
  type Certificate,
  type Issuer,
} from '../src/lib/pki/index.ts';
import type { DirectAddress } from '../src/lib/values/index.ts';

const day = 86_400_000;
const notBefore = new Date(Date.now() - day);
const notAfter = new Date(Date.now() + 365 * day);

/** A certificate and its private key. */
export interface Identity {
  readonly certificate: Certificate;
  readonly privateKey: KeyObject;
}

export async function makeAuthority(name: string): Promise<Issuer> {
  const { publicKey, privateKey } = await createKeyPair();
  const subject = [['CN', name]] as const;
  return {
    certificate: createAuthority({ subject, publicKey, privateKey, notBefore, notAfter }),
    privateKey,
  };
}

export async function makeIdentity(address: DirectAddress, issuer: Issuer): Promise<Identity> {
  const { publicKey, privateKey } = await createKeyPair();
  const boundTo = { address };
  return {
    certificate: issueDirectCertificate({ boundTo, publicKey, issuer, notBefore, notAfter }),
    privateKey,
  };
}
