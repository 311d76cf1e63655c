/** Hosted domains whose certificates are issued by authorities of the test, for the real agent. */
import {
  createAuthority,
  createCertificate,
  createKeyPair,
  readCertificate,
  readPrivateKey,
  type Certificate,
} from '../../src/lib/pki/index.ts';
import { wrapMessage } from '../../src/lib/mime/index.ts';
import { encryptEntity, signEntity } from '../../src/lib/smime/index.ts';
import type { DirectAddress } from '../../src/lib/values/index.ts';
import type { TestMessaging } from './start-messaging.ts';

export interface Issuer {
  readonly certificate: Certificate;
  readonly privateKey: Awaited<ReturnType<typeof createKeyPair>>['privateKey'];
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export async function createIssuer(name: string, validity: Validity): Promise<Issuer> {
  const { publicKey, privateKey } = await createKeyPair();
  const certificate = createAuthority({ subject: [['CN', name]], publicKey, privateKey, ...validity });
  return { certificate, privateKey };
}

/** Hosts a domain with a key pair of its own. */
export async function addIssuedDomain(
  { trust }: TestMessaging,
  domain: string,
  options: Validity & { readonly issuer: Issuer; readonly caIssuerUrls?: readonly string[] },
): Promise<Certificate> {
  const pair = await createKeyPair();
  const certificate = createCertificate({
    subject: [['CN', domain]],
    publicKey: pair.publicKey,
    isCa: false,
    keyUsage: ['digitalSignature', 'keyEncipherment'],
    dnsNames: [domain],
    ...options,
  });
  await trust.addDomain(domain);
  await trust.addKeyPair(domain, certificate.der, pair.privateKey);
  return certificate;
}

/** A message as a peer may send it that checks nothing of the header. */
export async function sealUnchecked(
  { trust, clock }: TestMessaging,
  sender: DirectAddress,
  message: Uint8Array,
  recipient: Certificate,
): Promise<Buffer> {
  const keys = (await trust.findSigningKeys(sender)).map(({ certificate, privateKey }) => ({
    certificate: readCertificate(certificate),
    privateKey: readPrivateKey(privateKey),
  }));
  const signed = signEntity(wrapMessage(message), keys, { at: clock.now() });
  return encryptEntity(signed, [{ certificate: recipient }]);
}
