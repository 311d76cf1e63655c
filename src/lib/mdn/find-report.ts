import {
  collectParts,
  decodeBody,
  MimeError,
  parseEntity,
  readMailboxes,
  unwrapEntity,
  type MessagePart,
  type MimeEntity,
} from '../mime/index.ts';

const mdnTypes: ReadonlySet<string> = new Set([
  'message/disposition-notification',
  'message/global-disposition-notification',
]);
const dsnTypes: ReadonlySet<string> = new Set(['message/delivery-status', 'message/global-delivery-status']);

/** A report and its place in a message. */
export interface FoundReport {
  /** The message whose header speaks for the report. */
  readonly message: MimeEntity;
  /** The leaves of the part that holds the report; that part itself if it has none. */
  readonly parts: readonly MimeEntity[];
  /** The machine-readable part; undefined if the message only says that it is a report. */
  readonly part: MimeEntity | undefined;
  /** Undefined for a report of another kind, for example feedback. */
  readonly kind: 'mdn' | 'dsn' | undefined;
  /** True if a person gets more with it than a footer: documents outside of the report. */
  readonly hasDocuments: boolean;
}

/**
 * Finds the report that a message is or carries (RFC 6522 §3), also where gateways put it: in a
 * multipart/mixed with a footer, under a foreign media type, or as the attached original of a message that
 * has nothing else and the same From. A report that somebody else's message
 * forwards as a whole is none of this message's. Throws MimeError of limits.
 */
export function findReport(message: MimeEntity): FoundReport | undefined {
  const found = findInTree(message);
  if (found !== undefined) return found;
  const inner = findWrapped(message);
  return inner === undefined ? undefined : findInTree(inner);
}

/**
 * True for a message that must never be answered by an MDN (MDN-02): it is a report of any kind, or carries
 * one.
 */
export function isReport(message: MimeEntity): boolean {
  try {
    return findReport(message) !== undefined;
  } catch (error) {
    if (!(error instanceof MimeError)) throw error;
    return isReportType(message.contentType.mediaType);
  }
}

/**
 * True for a message that carries documents for a person outside of its report, so that it is mail, too.
 * Throws MimeError of limits.
 */
export function hasDocumentsBesideReport(message: MimeEntity): boolean {
  return findReport(message)?.hasDocuments ?? false;
}

function isReportType(mediaType: string): boolean {
  return mediaType === 'multipart/report' || mdnTypes.has(mediaType) || dsnTypes.has(mediaType);
}

function findInTree(message: MimeEntity): FoundReport | undefined {
  const container = findContainer(message);
  if (container === undefined) return undefined;
  const isStrict = isReportType(container.contentType.mediaType);
  const own = collectParts(container);
  const ownEntities = own.map(({ entity }) => entity);
  const outer = collectParts(message).filter(({ entity }) => !ownEntities.includes(entity));
  const { part, kind } = pickPart(container, ownEntities);
  const others = isStrict ? outer : [...outer, ...own.filter(({ entity }) => entity !== part)];
  return { message, parts: ownEntities, part, kind, hasDocuments: others.some(isDocument) };
}

/**
 * The part that is typed as a report, or that holds one so typed; else the part that holds a report's fields.
 */
function findContainer(entity: MimeEntity): MimeEntity | undefined {
  return findPart(entity, ({ contentType }) => isReportType(contentType.mediaType)) ?? findSloppy(entity);
}

function findPart(entity: MimeEntity, matches: (part: MimeEntity) => boolean): MimeEntity | undefined {
  if (matches(entity)) {
    // Its neighbors, the text and what came back, belong to it.
    return entity;
  }
  for (const part of entity.parts) {
    const found = findPart(part, matches);
    if (found !== undefined) return found.contentType.type === 'multipart' ? found : entity;
  }
  return undefined;
}

function findSloppy(entity: MimeEntity): MimeEntity | undefined {
  if (entity.contentType.type !== 'multipart') return undefined;
  return findPart(
    entity,
    (part) => part !== entity && part.parts.length === 0 && kindByFields(part) !== undefined,
  );
}

function pickPart(container: MimeEntity, parts: readonly MimeEntity[]): Pick<FoundReport, 'part' | 'kind'> {
  const typed = (types: ReadonlySet<string>) =>
    parts.find(({ contentType }) => types.has(contentType.mediaType));
  const mdnPart = typed(mdnTypes);
  if (mdnPart !== undefined) return { part: mdnPart, kind: 'mdn' };
  const dsnPart = typed(dsnTypes);
  if (dsnPart !== undefined) return { part: dsnPart, kind: 'dsn' };
  const named = (container.contentType.parameters.get('report-type') ?? '').trim().toLowerCase();
  const kind = { 'disposition-notification': 'mdn', 'delivery-status': 'dsn' }[named] as FoundReport['kind'];
  // Gateways rewrite media types they do not know; the fields still identify the part.
  const untyped = parts.find((part, index) => index > 0 && beginsLikeReport(part));
  if (kind !== undefined) return { part: untyped, kind };
  const byFields = parts.find((part) => kindByFields(part) !== undefined);
  return { part: byFields, kind: byFields === undefined ? undefined : kindByFields(byFields) };
}

const maxFieldsBytes = 131_072;
const firstField =
  /^\s*(?:reporting-(?:ua|mta)|(?:mdn|dsn)-gateway|received-from-mta|arrival-date|original-(?:recipient|envelope-id)|final-recipient)[ \t]*:/i;
const recipientField = /^(?:final|original)-recipient[ \t]*:/im;
const dispositionField = /^disposition[ \t]*:[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*;/im;
const actionField = /^action[ \t]*:[ \t]*(?:failed|delayed|delivered|relayed|expanded)/im;

function textOf(part: MimeEntity): string {
  const isLarge = part.bodyBytes.length > maxFieldsBytes * 1.5 || part.contentType.type === 'multipart';
  return isLarge ? '' : decodeBody(part).toString('latin1', 0, 4000);
}

function beginsLikeReport(part: MimeEntity): boolean {
  return /^(?:reporting-(?:ua|mta)|final-recipient|disposition)[ \t]*:/im.test(textOf(part));
}

/**
 * Of a part that is not typed as a report: text that begins with a report's field and has those that make it
 * one. A word such as Disposition alone is also one of clinical texts.
 */
function kindByFields(part: MimeEntity): FoundReport['kind'] {
  if (part.contentType.type === 'message') return undefined;
  const text = textOf(part);
  if (!firstField.test(text) || !recipientField.test(text)) return undefined;
  if (dispositionField.test(text)) return 'mdn';
  return actionField.test(text) ? 'dsn' : undefined;
}

const signatureTypes = /^application\/(?:x-)?(?:pkcs7|pgp)-signature$/;

/**
 * Something that a person would miss: neither readable text as a footer is, nor what a report returns, nor an
 * image in a footer.
 */
function isDocument({ entity, mediaType, fileName, contentId, isText }: MessagePart): boolean {
  const { type } = entity.contentType;
  if (isText || type === 'message' || mediaType === 'text/rfc822-headers') return false;
  if (signatureTypes.test(mediaType)) return false;
  if (type === 'image' && (contentId !== undefined || entity.disposition?.value !== 'attachment'))
    return false;
  if (mdnTypes.has(mediaType) || dsnTypes.has(mediaType)) return false;
  // So some mail servers name the footers that they attach.
  return !(type === 'text' && (fileName === undefined || /^ATT\d+\.\w+$/i.test(fileName)));
}

/**
 * The original inside a message that a gateway made around it: nothing else but text is in it, and both are
 * of one From.
 */
function findWrapped(message: MimeEntity): MimeEntity | undefined {
  const parts = collectParts(message);
  const attached = parts.filter(
    ({ mediaType }) => mediaType === 'message/rfc822' || mediaType === 'message/global',
  );
  const [only] = attached;
  if (only === undefined || attached.length > 1 || parts.some(isDocument)) return undefined;
  const bytes = unwrapEntity(only.entity);
  if (bytes === undefined) return undefined;
  const inner = parseEntity(bytes);
  return hasSameFrom(message, inner) ? inner : undefined;
}

function hasSameFrom(one: MimeEntity, other: MimeEntity): boolean {
  const [from, innerFrom] = [one, other].map((message) =>
    readMailboxes(message.header('from') ?? '')
      .at(0)
      ?.address.toLowerCase(),
  );
  return from !== undefined && from === innerFrom;
}
