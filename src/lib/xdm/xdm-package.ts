import type { CodedValue, DocumentEntry, SubmissionSet } from './entries.ts';

/** One document of a package, ready to be an attachment (XDM-12). */
export interface XdmDocument {
  /** Of the metadata, else by the file's name. Lower-cased. */
  readonly mediaType: string;
  /** The file's own name without directories. */
  readonly fileName: string;
  /** The metadata's title, else the file name. */
  readonly title: string;
  readonly content: Buffer;
  readonly typeCode: CodedValue | undefined;
  /** Directory within the package, for example `IHE_XDM/SUBSET01`. */
  readonly subset: string;
  /** Undefined for a file that no metadata speak of. */
  readonly entry: DocumentEntry | undefined;
}

/** Warnings about a package that could still be read (AS-81). */
export type XdmWarning =
  | 'metadata-missing'
  | 'metadata-unreadable'
  | 'document-missing'
  | 'document-without-metadata'
  | 'association-missing'
  | 'hash-mismatch'
  | 'size-mismatch'
  | 'checksum-mismatch'
  | 'document-unreadable'
  | 'archive-damaged'
  | 'index-missing'
  | 'readme-missing'
  | 'layout-repaired';

/** Warnings that tell of damage: something is missing, or is not what its sender packed. */
export type XdmFault = Extract<
  XdmWarning,
  | 'metadata-missing'
  | 'metadata-unreadable'
  | 'document-missing'
  | 'hash-mismatch'
  | 'size-mismatch'
  | 'checksum-mismatch'
  | 'document-unreadable'
  | 'archive-damaged'
>;

/** One fault, and where it is. */
export interface XdmDamage {
  readonly fault: XdmFault;
  /** In `documents`; undefined for metadata, covers, and documents that are missing or cannot be unpacked. */
  readonly position: number | undefined;
  /** Path in the archive, or the URI of a document that is missing: may name a patient. Empty if unknown. */
  readonly path: string;
  /** Of the metadata; undefined if it gives none. */
  readonly uniqueId: string | undefined;
}

export interface XdmPackage {
  /** Documents in the order of the metadata, then files of the subsets that no metadata name. */
  readonly documents: readonly XdmDocument[];
  /** One for each subset with readable metadata. */
  readonly submissionSets: readonly SubmissionSet[];
  /**
   * `limited` if an object is marked so or lacks patient, creation time or type; undefined without metadata.
   */
  readonly metadataLevel: 'full' | 'limited' | undefined;
  /** Each at most once, sorted. */
  readonly warnings: readonly XdmWarning[];
  /** What of the warnings is damage, in the order of the documents; at most `maxEntries`. */
  readonly damage: readonly XdmDamage[];
}
