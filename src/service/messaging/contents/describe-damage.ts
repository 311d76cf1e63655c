import type { XdmDamage, XdmError, XdmErrorCode, XdmFault } from '../../../lib/xdm/index.ts';
import type { PackageWarning } from './inbound-document.ts';

const findings: Readonly<Record<XdmFault, string>> = {
  'checksum-mismatch': 'the content has not the checksum that the package gives',
  'hash-mismatch': 'the content has not the hash that the metadata give',
  'size-mismatch': 'the content has not the size that the metadata give',
  'archive-damaged': 'its directory is damaged or cut off; what could still be found was unpacked',
  'document-unreadable':
    'its data are damaged, encrypted or packed in an unknown way, so that it was not unpacked',
  'document-missing': 'the metadata name it, but the package lacks it',
  'metadata-missing': 'the package has no METADATA.XML',
  'metadata-unreadable': 'the metadata cannot be read, so that types and titles are unknown',
};

/** `placeOf` is the position of a document of the package in the list of attachments. */
export function toPackageWarning(
  { fault, position, path, uniqueId = '' }: XdmDamage,
  documentCount: number,
  placeOf: (position: number) => number,
): PackageWarning {
  const names = [plainName(path), oidForm.test(uniqueId) ? uniqueId : ''].filter((name) => name !== '');
  const subject = position === undefined ? subjectOf(fault) : `document ${position + 1} of ${documentCount}`;
  const subjectWithNames = names.length === 0 ? subject : `${subject} (${names.join(', ')})`;
  const isOfPackage = position === undefined;
  return {
    field: isOfPackage ? 'emailAttachmentList' : `emailAttachmentList[${placeOf(position)}]`,
    reason: fault.replaceAll('-', '_'),
    detail: `XDM package, ${subjectWithNames}: ${findings[fault]}.`,
    subject: subjectWithNames,
  };
}

function subjectOf(fault: XdmFault): string {
  if (fault === 'document-missing') return 'missing document';
  if (fault === 'document-unreadable') return 'unreadable file';
  if (fault === 'archive-damaged') return 'whole';
  return fault === 'checksum-mismatch' ? 'other file' : 'metadata';
}

const refusals: Readonly<Partial<Record<XdmErrorCode, string>>> = {
  XDM_UNREADABLE: 'it is damaged',
  XDM_UNSAFE_NAME: 'a name in it leads out of it',
  XDM_ENTRY_UNSUPPORTED: 'a file in it is encrypted or packed in an unknown way',
  XDM_TOO_LARGE: 'it unpacks to too much',
};

/** A package that is returned as it came. */
export function toUnreadWarning({ code }: XdmError, position: number): PackageWarning {
  return {
    field: `emailAttachmentList[${position}]`,
    reason: code.toLowerCase(),
    detail: `XDM package, whole: it was not unpacked, since ${refusals[code] ?? 'it cannot be read'}.`,
    subject: 'whole package',
  };
}

const oidForm = /^(?:urn:oid:)?[0-2](?:\.\d{1,39}){1,30}$/;

/** Names that programs give; any other could name a patient, which no audit row and no MDN may. */
const plainForm =
  /^(?:doc|document|file|att|attachment|cda|ccd|ccda|metadata|index|readme)[-_ ]?\d{0,5}\.[a-z\d]{1,4}$/i;

function plainName(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return plainForm.test(name) ? name : '';
}
