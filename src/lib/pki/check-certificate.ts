import { addressKey, domainOf, type DirectAddress } from '../values/index.ts';
import { isBoundTo, type Binding } from './binding.ts';
import type { Certificate } from './certificate.ts';
import { PkiError } from './errors.ts';
import type { KeyUsage } from './extensions.ts';
import { nameCertificate, shortName } from './name-certificate.ts';
import { oids } from './oids.ts';
import { maxRsaBits, type TrustPolicy } from './trust-policy.ts';

/**
 * Purpose of the certificate's key: it signed an incoming message, or it receives the content key of an
 * outgoing one.
 */
export type CertificateUse = 'signing' | 'encryption';

export interface EndEntityRules {
  readonly at: Date;
  readonly policy: TrustPolicy;
  /** The Direct address that it must be bound to; if absent, the binding is not checked. */
  readonly address?: DirectAddress;
  /** It is itself a configured anchor (TRUST-04), so that the operator vouches for its kind. */
  readonly isAnchor: boolean;
}

const usageBits: Readonly<Record<CertificateUse, KeyUsage>> = {
  signing: 'digitalSignature',
  encryption: 'keyEncipherment',
};

/**
 * Everything that an end-entity certificate must fulfill by itself, before anybody vouches for it (AS-10 to
 * AS-19). Returns how it is bound. Throws the `PKI_*` code of the first rule it breaks.
 */
export function checkEndEntity(
  certificate: Certificate,
  use: CertificateUse,
  rules: EndEntityRules,
): Binding | undefined {
  const { policy, address } = rules;
  // Before binding: a name with NUL or blanks in it can be read two ways, so all of its names are refused.
  if (certificate.hasMalformedNames)
    throw refusal('PKI_NAME_MALFORMED', certificate, 'a subjectAltName with characters out of place');
  const binding = address === undefined ? undefined : isBoundTo(certificate, address);
  if (address !== undefined && binding === undefined)
    throw refusal('PKI_NOT_BOUND', certificate, `bound to ${describeNames(certificate)}`);
  if (address !== undefined && policy.requireSubjectMatch) checkSubjectAddress(certificate, address);
  checkValidity(certificate, rules.at);
  checkKey(certificate, policy);
  checkKeyFitsUse(certificate, use);
  checkCriticalExtensions(certificate);
  checkKeyUsage(certificate, use, policy);
  checkPurposes(certificate);
  if (certificate.isCa && !rules.isAnchor && !policy.allowCaAsEndEntity) {
    throw refusal('PKI_END_ENTITY_IS_CA', certificate, 'a CA certificate used as an end entity');
  }
  checkPolicies(certificate, policy);
  return binding;
}

/** Everything that a certificate must fulfill by itself to vouch for another (RFC 5280 §6.1.4). */
export function checkIssuer(
  issuer: Certificate,
  rules: { at: Date; policy: TrustPolicy; isAnchor: boolean },
): void {
  if (!issuer.isCa) throw refusal('PKI_ISSUER_NOT_CA', issuer, 'an end entity that issues certificates');
  if (issuer.keyUsage !== undefined && !issuer.keyUsage.has('keyCertSign')) {
    throw refusal('PKI_ISSUER_KEY_USAGE', issuer, 'a CA without the right to sign certificates');
  }
  checkValidity(issuer, rules.at);
  checkKey(issuer, rules.policy);
  checkCriticalExtensions(issuer);
  // The operator's configuration decides the purpose of an anchor; for other certificates an absent purpose
  // is a limit.
  if (!rules.isAnchor) checkPurposes(issuer);
}

function checkSubjectAddress(certificate: Certificate, address: DirectAddress): void {
  const allowed = [addressKey(address), domainOf(address)];
  const named = certificate.subjectNames.flat().filter(({ oid }) => oid === oids.emailAddressAttribute);
  if (named.some(({ value = '' }) => !allowed.includes(value.toLowerCase()))) {
    throw refusal('PKI_NOT_BOUND', certificate, 'the subject names another address');
  }
}

/** The first names that an address could match. */
function describeNames({ rfc822Names, dnsNames }: Certificate): string {
  const names = [...rfc822Names, ...dnsNames];
  if (names.length === 0) return 'no address and no domain';
  const more = names.length > 2 ? ` and ${names.length - 2} more` : '';
  return `${names.slice(0, 2).map(shortName).join(', ')}${more}, another address`;
}

function checkValidity(certificate: Certificate, at: Date): void {
  const fault = findValidityFault(certificate, at);
  if (fault !== undefined) throw fault;
}

/**
 * Why the certificate is not valid at that time (AS-15): `PKI_NOT_YET_VALID` or `PKI_EXPIRED`; undefined if
 * it is.
 */
export function findValidityFault(certificate: Certificate, at: Date): PkiError | undefined {
  const now = at.getTime();
  // Written so that an impossible time (NaN) refuses.
  if (!(now >= certificate.notBefore.getTime()))
    return refusal('PKI_NOT_YET_VALID', certificate, `valid from ${certificate.notBefore.toISOString()}`);
  if (!(now <= certificate.notAfter.getTime()))
    return refusal('PKI_EXPIRED', certificate, `valid until ${certificate.notAfter.toISOString()}`);
  return undefined;
}

const strongCurves: ReadonlySet<string | undefined> = new Set(['P-256', 'P-384']);

function checkKey(certificate: Certificate, policy: TrustPolicy): void {
  const { keyType, keyBits } = certificate;
  const isUsable =
    keyType === 'rsa' ? keyBits <= maxRsaBits : keyType === 'ec' && strongCurves.has(certificate.curve);
  if (!isUsable)
    throw refusal(
      'PKI_KEY_ALGORITHM',
      certificate,
      `a key of type ${keyType} ${certificate.curve ?? keyBits}`,
    );
  if (keyType === 'rsa' && keyBits < policy.minRsaBits) {
    throw refusal(
      'PKI_KEY_TOO_WEAK',
      certificate,
      `an RSA key of ${keyBits} bits, fewer than ${policy.minRsaBits}`,
    );
  }
  const { keyFault } = certificate;
  if (keyFault !== undefined) throw refusal('PKI_KEY_INVALID', certificate, `an RSA key with ${keyFault}`);
  // A certificate that OpenSSL cannot read is refused here, because sealing would fail for all recipients.
  if (certificate.publicKey.type !== 'public')
    throw refusal('PKI_KEY_ALGORITHM', certificate, 'a key that is not public');
}

/**
 * Key transport needs a plain RSA key; EC recipients would need key agreement, which Direct peers cannot do
 * (AS-59).
 */
function checkKeyFitsUse(certificate: Certificate, use: CertificateUse): void {
  if (use === 'encryption' && certificate.publicKeyAlgorithmOid !== oids.rsaEncryption) {
    throw refusal(
      'PKI_KEY_ALGORITHM',
      certificate,
      `a key of algorithm ${certificate.publicKeyAlgorithmOid}, which cannot receive a content key`,
    );
  }
}

function checkCriticalExtensions(certificate: Certificate): void {
  const [oid] = certificate.unknownCriticalOids;
  if (oid !== undefined)
    throw refusal('PKI_CRITICAL_EXTENSION', certificate, `unknown critical extension ${oid}`);
}

function checkKeyUsage(certificate: Certificate, use: CertificateUse, policy: TrustPolicy): void {
  const isAllowed = certificate.keyUsage?.has(usageBits[use]) ?? !policy.requireKeyUsage;
  if (!isAllowed) throw refusal('PKI_KEY_USAGE', certificate, `a key that is not for ${use}`);
}

function checkPurposes(certificate: Certificate): void {
  const purposes = certificate.extendedKeyUsage;
  if (purposes === undefined) return;
  if (!purposes.includes(oids.emailProtection) && !purposes.includes(oids.anyExtendedKeyUsage)) {
    throw refusal('PKI_EXTENDED_KEY_USAGE', certificate, 'extended key usage without e-mail protection');
  }
}

function checkPolicies(certificate: Certificate, policy: TrustPolicy): void {
  const missing = policy.requiredPolicies.find(
    (wanted) => !certificate.policyOids.some((oid) => meets(oid, wanted)),
  );
  if (missing !== undefined)
    throw refusal('PKI_POLICY_MISSING', certificate, `no certificate policy ${missing}`);
}

function meets(oid: string, wanted: string): boolean {
  return wanted.endsWith('.*') ? oid.startsWith(wanted.slice(0, -1)) : oid === wanted;
}

/** A refusal that names the certificate. */
export function refusal(
  code: ConstructorParameters<typeof PkiError>[0],
  certificate: Certificate,
  text: string,
): PkiError {
  return new PkiError(code, `${nameCertificate(certificate)}: ${text}`, {
    fields: { certificate: certificate.fingerprint },
  });
}
