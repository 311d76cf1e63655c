import { hash, X509Certificate } from 'node:crypto';
import type { EvidenceDocument, SignedEvidence } from '../../../service/messaging/index.ts';

type Recipient = EvidenceDocument['result'][number];

/** The page has its styles in itself and runs nothing. */
export const evidencePagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Signed evidence as a page to print. Texts of other systems are escaped. The signature is that of the JWS,
 * not of the page.
 */
export function formatEvidencePage(signed: SignedEvidence): string {
  const document = JSON.parse(Buffer.from(signed.payload, 'base64url').toString()) as EvidenceDocument;
  const header = JSON.parse(Buffer.from(signed.protected, 'base64url').toString()) as { x5c: [string] };
  const der = Buffer.from(header.x5c[0], 'base64');
  const { subject } = new X509Certificate(der);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Evidence of delivery ${escape(document.messageId)}</title>
<style>
body { font: 10pt/1.4 sans-serif; max-width: 60em; margin: 2em auto; }
h2 { break-before: auto; border-top: 1px solid #000; padding-top: .6em; }
table { border-collapse: collapse; width: 100%; margin: .6em 0; }
th, td { border: 1px solid #888; padding: .2em .4em; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
caption { text-align: left; font-weight: bold; }
</style>
</head>
<body>
<h1>Evidence of delivery</h1>
${facts([
  ['Message', document.messageId],
  ['Message-ID', document.wireMessageId],
  ['From', document.fromDirectAddress],
  ['Accepted', document.acceptedTime],
  ['Signed at', document.createdTime],
  ['Signed by', subject.replaceAll('\n', ', ')],
  ['Certificate (SHA-256)', hash('sha256', der)],
  ['Signed document (SHA-256)', hash('sha256', signed.payload)],
])}
${document.result.map(formatRecipient).join('\n')}
<p>This page shows what the signed document (JWS) says. To check it, keep the document and run
<code>openhisp evidence verify FILE</code>; its payload has the SHA-256 above.</p>
</body>
</html>
`;
}

function formatRecipient(recipient: Recipient): string {
  const { toDirectAddress, status, statusTime, reason, statusCode, history, attempts, mdns } = recipient;
  return `<h2>${escape(toDirectAddress)}</h2>
${facts([
  ['Status', `${status} since ${statusTime}`],
  ['Status code', reason === '' ? statusCode : `${statusCode} (${reason})`],
])}
${table(
  'History',
  ['Time', 'Event', 'Status', 'Reason', 'What was said'],
  history.map(({ time, event, status: state, reason: why, diagnostic }) => [
    time,
    event,
    state,
    why,
    diagnostic,
  ]),
)}
${table(
  'Attempts',
  ['Time', 'Outcome', 'Mail server', 'TLS', 'Reply', 'Code', 'SHA-256 of the bytes sent', 'Certificates'],
  attempts.map((attempt) => [
    `${attempt.time} (${attempt.durationMs} ms)`,
    attempt.outcome,
    attempt.host === '' ? '' : `${attempt.host} [${attempt.address}]`,
    attempt.tls,
    attempt.reply,
    attempt.code,
    attempt.sentSha256,
    attempt.certificates.map((one) => JSON.stringify(one)).join(' '),
  ]),
)}
${table(
  'Signed MDNs',
  ['Received', "Signer's path (SHA-256, the signer first)", 'SHA-256 of the MDN as received'],
  mdns.map(({ receivedTime, signerPath, signedMdn }) => [
    receivedTime,
    signerPath.join(' '),
    hash('sha256', Buffer.from(signedMdn, 'base64')),
  ]),
)}`;
}

type Cell = string | boolean | undefined;

function facts(rows: readonly (readonly [name: string, value: string])[]): string {
  const lines = rows.map(([name, value]) => `<tr><th>${escape(name)}</th><td>${escape(value)}</td></tr>`);
  return `<table>\n${lines.join('\n')}\n</table>`;
}

function table(caption: string, names: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return `<p>${escape(caption)}: none.</p>`;
  const head = names.map((name) => `<th>${escape(name)}</th>`).join('');
  const body = rows.map(
    (row) => `<tr>${row.map((cell) => `<td>${escape(String(cell ?? ''))}</td>`).join('')}</tr>`,
  );
  return `<table>\n<caption>${escape(caption)}</caption>\n<tr>${head}</tr>\n${body.join('\n')}\n</table>`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (mark) => entities[mark] ?? '');
}
