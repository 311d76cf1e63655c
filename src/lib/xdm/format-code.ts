import type { CodedValue } from './entries.ts';
import type { CcdaHeader } from './sniff-ccda.ts';

const scheme = '1.3.6.1.4.1.19376.1.2.3';
/** All document templates of C-CDA stand below this; the tenth is the unstructured document. */
const documentTemplates = '2.16.840.1.113883.10.20.22.1.';
const unstructured = `${documentTemplates}10`;

/**
 * C-CDA 1.1 and 2.1 have their own format codes; of any other document the media type says enough (IHE ITI
 * TF-3 §4.2.3.2.9).
 */
export function formatCodeOf(header: CcdaHeader | undefined): CodedValue {
  const templates = header?.templateIds.filter((id) => id.startsWith(documentTemplates)) ?? [];
  const release = releaseOf(templates);
  if (release === undefined) {
    return {
      code: 'urn:ihe:iti:xds:2017:mimeTypeSufficient',
      codingScheme: scheme,
      displayName: 'Media type sufficient',
    };
  }
  const isUnstructured = templates.some((id) => id.split('^', 1)[0] === unstructured);
  const body = isUnstructured ? 'nonXMLBody' : 'structuredBody';
  return {
    code: `urn:hl7-org:sdwg:ccda-${body}:${release}`,
    codingScheme: scheme,
    displayName: `C-CDA R${release} with ${isUnstructured ? 'an unstructured' : 'a structured'} body`,
  };
}

/**
 * Templates of release 1.1 have no extension, those of 2.1 a date from 2015 on; releases between them have no
 * code.
 */
function releaseOf(templates: readonly string[]): string | undefined {
  const versions = templates.map((id) => id.split('^')[1] ?? '');
  if (versions.some((version) => /^20(?:1[5-9]|[2-9]\d)-/.test(version))) return '2.1';
  return versions.length > 0 && versions.every((version) => version === '') ? '1.1' : undefined;
}
