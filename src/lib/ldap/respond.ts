import { errorText } from '../../core/index.ts';
import { entryName, findMailOfName, nameKey } from './distinguished-name.ts';
import { LdapError } from './errors.ts';
import { attributeKey, mailValues, matches, readFilter, type LdapFilter } from './filter.ts';
import { maxMailValues } from './limits.ts';
import {
  operations,
  readBindRequest,
  readRequest,
  readSearchRequest,
  resultCodes,
  writeDisconnection,
  writeEntry,
  writeResult,
  type Attribute,
  type LdapRequest,
  type SearchRequest,
} from './message.ts';

/**
 * DER certificates published under a mail value, in lower case: an address or a domain. Empty when there are
 * none.
 */
export type FindPublished = (mail: string) => Promise<readonly Uint8Array[]> | readonly Uint8Array[];

export interface Directory {
  /** The one naming context, for example `o=openhisp`. */
  readonly base: string;
  readonly findCertificates: FindPublished;
  /** Called for failures of `findCertificates`. */
  readonly onError?: (error: unknown) => void;
}

export interface Reply {
  readonly messages: readonly Buffer[];
  /** The connection ends after these messages. */
  readonly isLast: boolean;
}

/**
 * Answers one request (HOST-03). Never rejects: a failing source gives `unavailable`, nonsense ends the
 * connection.
 */
export async function respond(bytes: Uint8Array, directory: Directory): Promise<Reply> {
  try {
    const request = readRequest(bytes);
    if (request.hasCriticalControl) return refuse(request, resultCodes.unavailableCriticalExtension);
    return await dispatch(request, directory);
  } catch (error) {
    const text = error instanceof LdapError ? errorText(error) : 'Internal error';
    if (!(error instanceof LdapError)) directory.onError?.(error);
    return { messages: [writeDisconnection(resultCodes.protocolError, text)], isLast: true };
  }
}

async function dispatch(request: LdapRequest, directory: Directory): Promise<Reply> {
  switch (request.operation) {
    case operations.bindRequest:
      return bind(request);
    case operations.searchRequest:
      return search(request, directory);
    case operations.unbindRequest:
      return { messages: [], isLast: true };
    case operations.abandonRequest:
      return { messages: [], isLast: false };
    case operations.extendedRequest:
      return refuse(request, resultCodes.protocolError);
    default:
      return refuse(request, resultCodes.unwillingToPerform);
  }
}

/** Only the anonymous bind (RFC 4513 §5.1.1); a name without a password is refused (§5.1.2). */
function bind(request: LdapRequest): Reply {
  const { version, name, password } = readBindRequest(request);
  if (version !== 3) return refuse(request, resultCodes.protocolError);
  if (password === undefined) return refuse(request, resultCodes.authMethodNotSupported);
  if (password.length > 0) return refuse(request, resultCodes.invalidCredentials);
  return refuse(request, name === '' ? resultCodes.success : resultCodes.unwillingToPerform);
}

/** The response that belongs to the request, with a code and nothing else. */
function refuse(request: LdapRequest, code: number, message = ''): Reply {
  const operation =
    request.operation === operations.searchRequest ? operations.searchResultDone : request.operation + 1;
  return { messages: [writeResult(request.id, operation, code, message)], isLast: false };
}

interface Entry {
  readonly dn: string;
  readonly attributes: readonly Attribute[];
}

async function search(request: LdapRequest, directory: Directory): Promise<Reply> {
  const wanted = readSearchRequest(request);
  const filter = readFilter(wanted.filter);
  let candidates: readonly Entry[] | number;
  try {
    candidates = await findCandidates(wanted, filter, directory);
  } catch (error) {
    directory.onError?.(error);
    return refuse(request, resultCodes.unavailable);
  }
  if (typeof candidates === 'number') return refuse(request, candidates, explanations.get(candidates));
  const found = candidates.filter((entry) => matches(filter, entry.attributes) === true);
  const isCut = wanted.sizeLimit > 0 && found.length > wanted.sizeLimit;
  const sent = isCut ? found.slice(0, wanted.sizeLimit) : found;
  const code = isCut ? resultCodes.sizeLimitExceeded : resultCodes.success;
  return {
    messages: [
      ...sent.map((entry) => writeEntry(request.id, entry.dn, selectAttributes(entry.attributes, wanted))),
      writeResult(request.id, operations.searchResultDone, code),
    ],
    isLast: false,
  };
}

const explanations: ReadonlyMap<number, string> = new Map([
  [resultCodes.unwillingToPerform, 'The filter has to name the mail value it wants'],
  [resultCodes.adminLimitExceeded, 'The filter names too many mail values'],
]);

/** The entries in reach of base and scope, or a result code. */
async function findCandidates(
  { base, scope }: SearchRequest,
  filter: LdapFilter,
  directory: Directory,
): Promise<readonly Entry[] | number> {
  const key = nameKey(base);
  if (key === '' && scope === 'base') return [rootEntry(directory.base)];
  if (key === nameKey(directory.base) && scope === 'base') return [baseEntry(directory.base)];
  // A search from the root reaches everything, except that its only child is the base.
  if (key === '' && scope === 'one') return [baseEntry(directory.base)];
  if (key === '' || key === nameKey(directory.base)) return findEntriesByFilter(filter, directory);
  const mail = findMailOfName(base, directory.base);
  const entry = mail === undefined ? undefined : await findEntry(mail, directory);
  if (entry === undefined) return resultCodes.noSuchObject;
  return scope === 'one' ? [] : [entry];
}

async function findEntriesByFilter(
  filter: LdapFilter,
  directory: Directory,
): Promise<readonly Entry[] | number> {
  const mails = mailValues(filter);
  if (mails === undefined) return resultCodes.unwillingToPerform;
  if (mails.length > maxMailValues) return resultCodes.adminLimitExceeded;
  const entries: Entry[] = [];
  for (const mail of mails) {
    const entry = await findEntry(mail, directory);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

async function findEntry(mail: string, { base, findCertificates }: Directory): Promise<Entry | undefined> {
  const certificates = await findCertificates(mail);
  if (certificates.length === 0) return undefined;
  return {
    dn: entryName(mail, base),
    attributes: [
      attribute('objectClass', 'top', 'person', 'organizationalPerson', 'inetOrgPerson'),
      attribute('cn', mail),
      attribute('sn', mail),
      attribute('mail', mail),
      { name: 'userCertificate;binary', values: certificates },
    ],
  };
}

function rootEntry(base: string): Entry {
  return {
    dn: '',
    attributes: [
      attribute('objectClass', 'top'),
      attribute('namingContexts', base),
      attribute('supportedLDAPVersion', '3'),
      attribute('vendorName', 'openhisp'),
    ],
  };
}

function baseEntry(base: string): Entry {
  const organization = /^\s*o\s*=\s*([^,]+)/i.exec(base)?.[1] ?? base;
  return {
    dn: base,
    attributes: [attribute('objectClass', 'top', 'organization'), attribute('o', organization)],
  };
}

function attribute(name: string, ...values: readonly string[]): Attribute {
  return { name, values: values.map((value) => Buffer.from(value, 'utf8')) };
}

/**
 * RFC 4511 §4.5.1.8: nothing named or `*` means all, `1.1` none. The root's operational attributes are shown
 * as well.
 */
function selectAttributes(attributes: readonly Attribute[], wanted: SearchRequest): readonly Attribute[] {
  const keys = new Set(wanted.attributes.map(attributeKey));
  const isAll = keys.size === 0 || keys.has('*') || keys.has('+');
  const selected = isAll ? attributes : attributes.filter((one) => keys.has(attributeKey(one.name)));
  return wanted.isTypesOnly ? selected.map((one) => ({ ...one, values: [] })) : selected;
}
