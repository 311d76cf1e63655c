import { der } from '../asn1/index.ts';

/** Attributes of a distinguished name in order, for example `[['CN', 'alpha anchor'], ['O', 'alpha']]`. */
export type NameAttributes = readonly (readonly [type: string, value: string])[];

const attributeOids: Readonly<Record<string, string>> = {
  CN: '2.5.4.3',
  C: '2.5.4.6',
  L: '2.5.4.7',
  ST: '2.5.4.8',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  DC: '0.9.2342.19200300.100.1.25',
  emailAddress: '1.2.840.113549.1.9.1',
};

/** A Name (RFC 5280 §4.1.2.4). A type is one of the usual short names or an OID. */
export function nameDer(attributes: NameAttributes): Buffer {
  return der.sequence(
    ...attributes.map(([type, value]) => {
      const text =
        type === 'emailAddress' || type === 'DC'
          ? der.ia5(value)
          : type === 'C'
            ? der.printable(value)
            : der.utf8(value);
      return der.set(der.sequence(der.oid(attributeOids[type] ?? type), text));
    }),
  );
}

/**
 * Writers of GeneralName alternatives (RFC 5280 §4.2.1.6). Text is written byte for byte (Latin-1), so that
 * tests can write wrong ones.
 */
export const generalNameDer = {
  rfc822: (text: string): Buffer => der.implicit(1, false, Buffer.from(text, 'latin1')),
  dns: (text: string): Buffer => der.implicit(2, false, Buffer.from(text, 'latin1')),
  directory: (attributes: NameAttributes): Buffer => der.explicit(4, nameDer(attributes)),
  uri: (text: string): Buffer => der.implicit(6, false, Buffer.from(text, 'latin1')),
  ipAddress: (octets: Uint8Array): Buffer => der.implicit(7, false, octets),
} as const;
