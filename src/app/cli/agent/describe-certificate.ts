import type { Certificate, ValidatedPath } from '../../../lib/pki/index.ts';

/** The facts about a certificate that an operator asks for. */
export function describeCertificate(certificate: Certificate): Record<string, unknown> {
  const { subject, issuer, serialNumber, fingerprint, notBefore, notAfter, keyType, keyBits } = certificate;
  return {
    subject,
    issuer,
    serialNumber,
    fingerprint,
    notBefore: notBefore.toISOString(),
    notAfter: notAfter.toISOString(),
    key: `${keyType} ${certificate.curve ?? keyBits}`,
    boundTo: [...certificate.rfc822Names, ...certificate.dnsNames],
  };
}

/** The validated path, end entity first. */
export function describePath(path: ValidatedPath): Record<string, unknown> {
  return {
    path: path.certificates.map(({ subject, fingerprint }) => ({ subject, fingerprint })),
    anchor: path.anchor.subject,
    binding: path.binding,
    revocation: path.revocation.map(({ status, code, crlUrl }) => ({ status, code, crlUrl })),
    warnings: path.warnings,
  };
}
