const dotted = /^[0-2](?:\.(?:0|[1-9][0-9]*))+$/;
// A DICOM/IHE identifier holds at most 64 characters; `2.25.` with a UUID needs 44 (META-02).
const maxOidLength = 64;

/** True for a dotted OID (ITU-T X.660: first arc 0-2, second below 40 under 0 and 1). */
export function isOid(text: string): boolean {
  if (text.length > maxOidLength || !dotted.test(text)) return false;
  const [first, second] = text.split('.');
  return first === '2' || Number(second) < 40;
}

/** The OID of a UUID: `2.25.` and the UUID as a decimal number (ITU-T X.667 §7, META-02). */
export function oidOfUuid(uuid: string): string {
  return `2.25.${BigInt(`0x${uuid.replaceAll('-', '')}`)}`;
}
