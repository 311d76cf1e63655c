import type { DocumentEntry, SubmissionSet } from './entries.ts';
import type { XdmRequest } from './xdm-request.ts';
import { xmlAttributes, xmlText } from './xml-text.ts';

const subsetPath = 'IHE_XDM/SUBSET01/';

/**
 * INDEX.HTM: XHTML Basic with a list of the package's contents and links to them (XDM-10, IHE ITI TF-2
 * §3.32.4.1.2.2).
 */
export function writeIndex(
  request: XdmRequest,
  set: SubmissionSet,
  documents: readonly DocumentEntry[],
): string {
  const items = documents.map(
    ({ uri = '', title = uri, mimeType, sizeBytes = 0 }) =>
      `<li>${link(`${subsetPath}${uri}`, title)} (${xmlText(mimeType)}, ${sizeBytes} bytes)</li>`,
  );
  const text = set.comments === undefined ? '' : `<pre>${xmlText(set.comments)}</pre>\n`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML Basic 1.1//EN" "http://www.w3.org/TR/xhtml-basic/xhtml-basic11.dtd">',
    '<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en">',
    `<head><title>${xmlText(set.title ?? 'Document package')}</title></head>`,
    '<body>',
    `<h1>${xmlText(set.title ?? 'Document package')}</h1>`,
    `<p>Sent by ${xmlText(request.from)} on ${request.at.toISOString().slice(0, 10)}. About this package: ${link('README.TXT', 'README.TXT')}.</p>`,
    `${text}<ul>`,
    ...items,
    '</ul>',
    `<p>Metadata: ${link(`${subsetPath}METADATA.XML`, 'METADATA.XML')}</p>`,
    '</body>',
    '</html>',
    '',
  ].join('\r\n');
}

function link(href: string, text: string): string {
  return `<a${xmlAttributes({ href })}>${xmlText(text)}</a>`;
}

/** README.TXT: the sender of the package, the sending software, the layout (XDM-10). */
export function writeReadme(
  request: XdmRequest,
  set: SubmissionSet,
  documents: readonly DocumentEntry[],
): string {
  const institution = set.authors[0]?.institutions[0]?.split('^', 1)[0];
  return [
    'This package was made by openhisp, an open Direct messaging service.',
    '',
    `Sender and contact: ${request.from}`,
    ...(institution === undefined ? [] : [`Institution:        ${institution}`]),
    `Date:               ${request.at.toISOString()}`,
    '',
    'It follows the profile Cross-Enterprise Document Media Interchange (XDM) of IHE.',
    '',
    'INDEX.HTM                     what the package holds, for a browser',
    'README.TXT                    this file',
    `${subsetPath}METADATA.XML metadata of the documents`,
    ...documents.map(({ uri = '', mimeType }) => `${subsetPath}${uri.padEnd(12)} ${mimeType}`),
    '',
  ].join('\r\n');
}
