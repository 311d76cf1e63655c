import type { InboundAttachmentPayload, InboundPayload } from '../../../service/messaging/index.ts';

/** A part of a message that a client hands over. */
export interface HandedPart {
  /** `CDA`, `CCR`, `TEXT` or `RAW`. */
  readonly kind: string;
  readonly name: string;
  readonly content: Buffer;
}

export interface HandedMessage {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: Buffer | undefined;
  readonly parts: readonly HandedPart[];
  /** Undefined: as the account's policy says. */
  readonly requestsFinalDelivery: boolean | undefined;
  /** The author institution, where the account has its documents packed as XDM. */
  readonly packedFor?: string | undefined;
}

/** The send request that the parts amount to (Messaging spec: Outbound message). */
export function toSendRequest(message: HandedMessage): unknown {
  const { from, to, text, requestsFinalDelivery, packedFor } = message;
  // A part without octets is a page that had nothing to say.
  const parts = message.parts.filter(({ content }) => content.length > 0);
  const body = text === undefined ? '' : decodeText(text);
  return {
    fromDirectAddress: from,
    toDirectAddress: to,
    ...(body.trim() === '' ? {} : { messageBody: body }),
    ...(requestsFinalDelivery === undefined ? {} : { requestFinalDelivery: requestsFinalDelivery }),
    ...(packedFor === undefined || parts.length === 0 ? {} : { xdm: true, authorInstitution: packedFor }),
    emailAttachmentList: parts.map(({ kind, name, content }) => ({
      attachmentClass: typeOf(kind, name),
      attachmentContent: content.toString('base64'),
      ...(name.trim() === '' ? {} : { attachmentFileName: name.trim(), attachmentTitle: name.trim() }),
    })),
  };
}

/** Clients send the octets of their pages: UTF-8, or the code page of older installations. */
function decodeText(octets: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(octets);
  } catch {
    return new TextDecoder('windows-1252').decode(octets);
  }
}

const typesByExtension: Readonly<Record<string, string>> = {
  xml: 'text/xml',
  html: 'text/html',
  htm: 'text/html',
  pdf: 'application/pdf',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  rtf: 'application/rtf',
  zip: 'application/zip',
  csv: 'text/csv',
  txt: 'text/plain',
};

function typeOf(kind: string, name: string): string {
  if (kind === 'CDA' || kind === 'CCR') return 'text/xml';
  const extension = /\.([a-z0-9]+)\s*$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const byName = typesByExtension[extension];
  if (kind === 'TEXT') return byName?.startsWith('text/') === true ? byName : 'text/plain';
  return byName ?? 'application/octet-stream';
}

/** A received message, ready to be shown part by part. */
export interface ShownMessage {
  /** Its attachments; part 0 is its text. */
  readonly attachments: readonly InboundAttachmentPayload[];
  /** The whole reply to the request for the text, with the list of attachments. */
  readonly main: Buffer;
  /** The whole reply for one attachment, from 1. Undefined: there is none. */
  attachment(position: number): Buffer | undefined;
}

/**
 * The text is the main part whatever else there is, since clients file every other type as a document of its
 * own; without a text it is empty. Never a line end but LF: clients look for a line that is LF alone, and
 * read on for ever if it is not there.
 */
export function showMessage(payload: InboundPayload): ShownMessage {
  // What belongs to the text, such as an image in it, is a document to these clients.
  const attachments = payload.emailAttachmentList;
  const text = Buffer.from(payload.messageBody);
  const type = payload.messageBodyClass === 'text/html' ? 'text/html' : 'text/plain';
  // Clients take what is before the semicolon. Without one some take the line end, too, and file the text
  // as a document of an unknown type.
  const typeLine = `${type}; charset=utf-8`;
  const { envelopeInfo } = payload;
  const header = [
    `From: ${envelopeInfo.fromDirectAddress}`,
    `To: ${envelopeInfo.toDirectAddress.join(', ')}`,
    `Subject: ${payload.messageSubject}`,
    `Date: ${new Date(envelopeInfo.transitTime).toUTCString().replace('GMT', '+0000')}`,
    ...(envelopeInfo.wireMessageId === '' ? [] : [`Message-ID: ${envelopeInfo.wireMessageId}`]),
  ];
  const listed = attachments.flatMap((one) => [nameOf(one), one.attachmentClass, one.attachmentTitle]);
  return {
    attachments,
    main: Buffer.concat([
      Buffer.from(lines(['OK', ...header]) + lines(['', typeLine, String(text.length)])),
      text,
      Buffer.from(lines([String(attachments.length), ...listed])),
    ]),
    attachment(position) {
      const found = attachments[position - 1];
      if (found === undefined) return undefined;
      const content = Buffer.from(found.attachmentContent, 'base64');
      const head = lines(['OK', nameOf(found), found.attachmentClass, String(content.length)]);
      return Buffer.concat([Buffer.from(head), content]);
    },
  };
}

/** Clients keep the name as it is; one without an extension cannot be opened. */
const nameOf = ({ attachmentFileName, attachmentTitle }: InboundAttachmentPayload): string =>
  attachmentFileName === '' ? attachmentTitle || 'document' : attachmentFileName;

/** Clients read 511 octets of a line at most in places, and take a line of 1,023 for two. */
const maxLineOctets = 500;

const lines = (texts: readonly string[]): string => texts.map((text) => `${cutLine(text)}\n`).join('');

/** One line, cut at a whole character. */
export function cutLine(text: string, maxOctets = maxLineOctets): string {
  const clean = text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  if (Buffer.byteLength(clean) <= maxOctets) return clean;
  return new TextDecoder().decode(Buffer.from(clean).subarray(0, maxOctets)).replace(/\ufffd+$/u, '');
}
