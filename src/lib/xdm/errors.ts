import { codedError, type ErrorTable } from '../../core/index.ts';

export const xdmErrors = {
  /** A package without a document was asked for. */
  XDM_NO_DOCUMENTS: { kind: 'invalid-input' },
  /** A value that cannot stand in the metadata, for example a source id that is not an OID. */
  XDM_VALUE_INVALID: { kind: 'invalid-input' },
  /** Bytes that are no ZIP archive, or a damaged one. */
  XDM_UNREADABLE: { kind: 'invalid-input' },
  /** An entry whose name is absolute or leaves the package. */
  XDM_UNSAFE_NAME: { kind: 'invalid-input' },
  /** An encrypted entry, or one packed by a method other than stored and deflate (XDM-04). */
  XDM_ENTRY_UNSUPPORTED: { kind: 'invalid-input' },
  /**
   * More entries, or more unpacked bytes, than the limits allow; or a size that the header does not state.
   */
  XDM_TOO_LARGE: { kind: 'too-large' },
} as const satisfies ErrorTable;

export type XdmErrorCode = keyof typeof xdmErrors;

/** Thrown by this module. Texts never hold file names, titles or metadata: they may name a patient. */
export class XdmError extends codedError(xdmErrors) {}
