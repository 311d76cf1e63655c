import { codedError, type ErrorTable } from '../../core/index.ts';

export const trustErrors = {
  TRUST_DOMAIN_UNKNOWN: { kind: 'not-found', publicMessage: 'The domain is not hosted here.' },
  TRUST_DOMAIN_TAKEN: {
    kind: 'conflict',
    publicMessage:
      'The domain belongs to another organization, or a client of another one has addresses of it.',
  },
  TRUST_DOMAIN_HELD: {
    kind: 'conflict',
    publicMessage: 'The organization of the domain, or an address of it, is on legal hold; release it first.',
  },
  TRUST_DOMAIN_IN_USE: {
    kind: 'conflict',
    publicMessage: 'The domain has active addresses, or mail that is still under way.',
  },
  TRUST_DOMAIN_INVALID: {
    kind: 'invalid-input',
    publicMessage: 'Not a domain name such as direct.clinic.example.',
  },
  TRUST_ADDRESS_UNKNOWN: { kind: 'not-found', publicMessage: 'The address is not hosted here.' },
  TRUST_FORWARDING_INVALID: { kind: 'invalid-input' },
  TRUST_KEY_NOT_BOUND: { kind: 'invalid-input' },
  TRUST_KEY_MISMATCH: { kind: 'invalid-input' },
  TRUST_KEY_EXPIRED: { kind: 'invalid-input' },
  TRUST_KEY_NOT_YET_VALID: { kind: 'invalid-input' },
  TRUST_KEY_UNUSABLE: { kind: 'invalid-input' },
  TRUST_KEY_LAST_ACTIVE: { kind: 'conflict' },
  TRUST_KEY_SWITCH_INVALID: { kind: 'invalid-input' },
  TRUST_KEY_UNKNOWN: { kind: 'not-found' },
  TRUST_KEY_REQUEST_UNKNOWN: {
    kind: 'not-found',
    publicMessage: 'No key of the domain waits for this certificate: it was issued for another key.',
  },
  TRUST_KEY_REQUESTS_FULL: { kind: 'conflict' },
  TRUST_CERTIFICATE_INVALID: { kind: 'invalid-input' },
  TRUST_ANCHOR_INVALID: {
    kind: 'invalid-input',
    publicMessage: 'Not one X.509 certificate in DER or PEM.',
  },
  TRUST_ANCHOR_UNKNOWN: { kind: 'not-found' },
  TRUST_BUNDLE_INVALID: {
    kind: 'invalid-input',
    publicMessage: 'Not a URL of a bundle. Without a signer it is fetched by https only.',
  },
  TRUST_BUNDLE_UNKNOWN: { kind: 'not-found' },
  TRUST_BUNDLE_REFUSED: { kind: 'untrusted' },
} as const satisfies ErrorTable;

/** Why our own domains, keys or anchors cannot be read or changed. */
export class TrustError extends codedError(trustErrors) {}

export function unknownDomain(domain: string): never {
  throw new TrustError('TRUST_DOMAIN_UNKNOWN', `${domain} is not a hosted domain.`);
}
