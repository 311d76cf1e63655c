import {
  checkEndEntity,
  defaultTrustPolicy,
  isBoundTo,
  PkiError,
  type Certificate,
  type CertificateUse,
} from '../../lib/pki/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../lib/values/index.ts';
import { TrustError } from './errors.ts';

const uses: readonly CertificateUse[] = ['signing', 'encryption'];

/** An address that a certificate for the owner (a domain, or an address) must be bound to. */
function probeOf(owner: string): DirectAddress {
  return parseDirectAddress(owner.includes('@') ? owner : `postmaster@${owner}`);
}

/**
 * True if the certificate names the owner in its subjectAltName, by the kind of name that fits (AS-10,
 * AS-11).
 */
export function namesOwner(certificate: Certificate, owner: string): boolean {
  return isBoundTo(certificate, probeOf(owner)) === (owner.includes('@') ? 'address' : 'domain');
}

/**
 * Uses for which peers accept a certificate of ours at one time (AS-14 to AS-17): both uses for most, one for
 * a pair of single-use certificates.
 */
export function findUses(certificate: Certificate, owner: string, at: Date): readonly CertificateUse[] {
  return uses.filter((use) => findFault(certificate, use, owner, at) === undefined);
}

/** Uses for which peers accept it within its validity. */
export function findUsesEver(certificate: Certificate, owner: string): readonly CertificateUse[] {
  return findUses(certificate, owner, certificate.notAfter);
}

/**
 * Refuses a certificate that no peer accepts for any use now. Throws TRUST_KEY_EXPIRED,
 * TRUST_KEY_NOT_YET_VALID or TRUST_KEY_UNUSABLE. For a key that is only to open old mail, `isRetired` leaves
 * the dates out.
 */
export function refuseUnusable(
  certificate: Certificate,
  owner: string,
  { at, isRetired }: { readonly at: Date; readonly isRetired: boolean },
): void {
  const moment = isRetired ? certificate.notAfter : at;
  const faults = uses.map((use) => findFault(certificate, use, owner, moment));
  const [fault] = faults;
  if (fault === undefined || faults.includes(undefined)) return;
  const { notBefore, notAfter } = certificate;
  if (fault.code === 'PKI_EXPIRED') {
    throw new TrustError(
      'TRUST_KEY_EXPIRED',
      `The certificate expired on ${notAfter.toISOString()}. Import a renewed one; add --retired if it is only to open old mail.`,
    );
  }
  if (fault.code === 'PKI_NOT_YET_VALID') {
    throw new TrustError(
      'TRUST_KEY_NOT_YET_VALID',
      `The certificate is not valid before ${notBefore.toISOString()}. Import it then, and check this machine's clock.`,
    );
  }
  throw new TrustError(
    'TRUST_KEY_UNUSABLE',
    `Peers accept the certificate neither for signing nor for encryption: ${fault.message}. Ask the CA for one for Direct.`,
    { cause: fault },
  );
}

function findFault(
  certificate: Certificate,
  use: CertificateUse,
  owner: string,
  at: Date,
): PkiError | undefined {
  try {
    checkEndEntity(certificate, use, {
      at,
      policy: defaultTrustPolicy,
      address: probeOf(owner),
      isAnchor: false,
    });
    return undefined;
  } catch (error) {
    if (error instanceof PkiError) return error;
    throw error;
  }
}
