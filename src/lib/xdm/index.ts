/**
 * Builds and reads XDM packages for e-mail: a ZIP archive with documents and their metadata (IHE ITI TF-2
 * §3.32, TF-3 §4.2 and §4.3; XDR and XDM for Direct Messaging).
 *
 * Writing: one subset, full metadata if all required fields are known, else limited; deterministic bytes.
 * Reading: safe against hostile archives, forgiving toward sloppy ones; a document with broken metadata is
 * still delivered. C-CDA headers are sniffed for identifier, time and type; documents are never changed. Not
 * supported: folders, associations other than HasMember, XDR (SOAP), several subsets when writing, ZIP64 on
 * purpose.
 *
 * Called by service/messaging and app/cli.
 */
export { buildXdm, xdmFileName, xdmSubject } from './build-xdm.ts';
export type { CodedValue } from './entries.ts';
export { XdmError, type XdmErrorCode } from './errors.ts';
export { beginsAsZip, hasPackageType, isCutXdm, isXdm } from './is-xdm.ts';
export { readMetadata } from './read-metadata.ts';
export { readXdm } from './read-xdm.ts';
export { findXmlFault, type XmlFault } from './find-xml-fault.ts';
export { sniffCcda } from './sniff-ccda.ts';
export type { XdmDamage, XdmDocument, XdmFault, XdmPackage } from './xdm-package.ts';
export { defaultXdmCodes, type XdmCodes, type XdmPatient, type XdmRequest } from './xdm-request.ts';
