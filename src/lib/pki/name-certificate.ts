/** Longest part of a name in a text: a CA chooses names, and the rest of the text has to be read, too. */
const maxNameLength = 90;

/**
 * A certificate in a text for operators: subject and serial number, as viewers and CAs show them. Of a
 * subject that is absent or long, the serial number tells which one it is.
 */
export function nameCertificate(certificate: {
  readonly subject: string;
  readonly serialNumber: string;
}): string {
  const { subject, serialNumber } = certificate;
  const name = subject === '' ? 'a certificate without subject' : shortName(subject);
  return `${name} (serial ${serialNumber.slice(0, maxNameLength)})`;
}

/** A distinguished name in a text. */
export function shortName(name: string): string {
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength - 3)}...` : name;
}
