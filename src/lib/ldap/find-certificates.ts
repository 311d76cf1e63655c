import { viewAsBuffer } from '../../core/index.ts';
import { der } from '../asn1/index.ts';
import type { LdapConnection } from './connection.ts';
import { LdapError } from './errors.ts';
import { attributeKey } from './filter.ts';
import {
  maxCertificateOctets,
  maxCertificates,
  maxEntries,
  maxNamingContexts,
  searchTimeLimitSeconds,
} from './limits.ts';
import {
  type Attribute,
  operations,
  readEntry,
  readResultCode,
  resultCodes,
  type SearchParameters,
  writeBindRequest,
  writeSearchRequest,
} from './message.ts';

/**
 * Codes after which certificates may exist all the same: at another time, beyond a limit, or on another
 * server.
 */
const undecidedCodes: ReadonlySet<number> = new Set([
  resultCodes.sizeLimitExceeded,
  resultCodes.referral,
  resultCodes.timeLimitExceeded,
  resultCodes.adminLimitExceeded,
  resultCodes.busy,
  resultCodes.unavailable,
  resultCodes.other,
]);

/** Codes that may follow entries. */
const cutCodes: ReadonlySet<number> = new Set([
  resultCodes.timeLimitExceeded,
  resultCodes.referral,
  resultCodes.adminLimitExceeded,
]);

export interface FoundCertificates {
  readonly certificates: readonly Uint8Array[];
  /** Why a naming context could not be searched that may have others at another time. */
  readonly failure?: unknown;
}

/**
 * DISC-08: anonymous bind, the root's naming contexts, a subtree search under each. Rejects when the server
 * fails.
 */
export async function findCertificates(connection: LdapConnection, mail: string): Promise<FoundCertificates> {
  await bind(connection);
  const certificates = new Map<string, Uint8Array>();
  const failures: unknown[] = [];
  const contexts = await findNamingContexts(connection);
  for (const base of contexts) {
    try {
      for (const der of await searchContext(connection, base, mail)) {
        if (certificates.size < maxCertificates) certificates.set(viewAsBuffer(der).toString('base64'), der);
      }
    } catch (error) {
      failures.push(error);
    }
  }
  // One context may be closed to us while another answers; when all fail, the server counts as not answering.
  // So it does when nothing was found, and a context that failed may yet have it (DISC-11).
  const failure = failures.find((one) => !isClosedToUs(one));
  const isOpen = certificates.size === 0 && failure !== undefined;
  if (isOpen || failures.length === contexts.length) throw failure ?? failures[0];
  return { certificates: [...certificates.values()], ...(failure !== undefined && { failure }) };
}

async function bind(connection: LdapConnection): Promise<void> {
  const answers = await connection.ask(writeBindRequest, operations.bindResponse);
  const last = answers.at(-1);
  const code = last && readResultCode(last);
  if (code !== resultCodes.success) throw serverFailed('refuses the anonymous bind', code);
}

async function findNamingContexts(connection: LdapConnection): Promise<readonly string[]> {
  const { attributes } = await search(connection, {
    base: '',
    scope: 'base',
    filter: presentFilter('objectClass'),
    attributes: ['namingContexts'],
    sizeLimit: 1,
    timeLimitSeconds: searchTimeLimitSeconds,
  });
  const contexts = attributes
    .filter(({ name }) => attributeKey(name) === 'namingcontexts')
    .flatMap(({ values }) => values.map((value) => viewAsBuffer(value).toString('utf8')));
  // A server that names none is searched from the root.
  return contexts.length === 0 ? [''] : contexts.slice(0, maxNamingContexts);
}

/** Where certificates are: RFC 4523 §2.1, and RFC 2798 §2.8, whose values are certificate sets (PKCS #7). */
const certificateAttributes = [
  'userCertificate;binary',
  'userCertificate',
  'userSMIMECertificate;binary',
  'userSMIMECertificate',
] as const;

/** Also by their identifiers, as a server names attributes that its schema does not have. */
const certificateKeys: ReadonlySet<string> = new Set([
  ...certificateAttributes.map(attributeKey),
  '2.5.4.36',
  '2.16.840.1.113730.3.1.40',
]);

/** RFC 4511 §4.1.4: the type of an attribute description without its options, such as `;range=0-9`. */
function typeOf(description: string): string {
  return description.toLowerCase().split(';', 1)[0] ?? '';
}

async function searchContext(connection: LdapConnection, base: string, mail: string): Promise<Uint8Array[]> {
  const { attributes, openCode } = await search(connection, {
    base,
    scope: 'sub',
    filter: discoveryFilter(mail),
    attributes: certificateAttributes,
    sizeLimit: maxEntries,
    timeLimitSeconds: searchTimeLimitSeconds,
  });
  const values = attributes
    .filter(({ name }) => certificateKeys.has(typeOf(name)))
    .flatMap((attribute) => attribute.values)
    .filter((value) => value.length > 0 && value.length <= maxCertificateOctets);
  if (values.length === 0 && openCode !== undefined) throw serverFailed('leaves the search open', openCode);
  // Copies, so that a kept certificate does not keep the whole answer alive.
  return values.map((value) => new Uint8Array(value));
}

interface Found {
  readonly attributes: readonly Attribute[];
  /** Why there may be more: a limit of the server, or entries that only another server has. */
  readonly openCode?: number;
}

/**
 * The attributes of all entries found. References to other servers are not followed, as these can be
 * anybody's (SEC-11).
 */
async function search(connection: LdapConnection, parameters: SearchParameters): Promise<Found> {
  const answers = await connection.ask(
    (id) => writeSearchRequest(id, parameters),
    operations.searchResultDone,
  );
  const done = answers.at(-1);
  const code = done && readResultCode(done);
  // RFC 4511 §4.5.2: the base may be gone; other codes mean that the server would not search.
  if (code === resultCodes.noSuchObject) return { attributes: [] };
  const entries = answers.filter(({ operation }) => operation === operations.searchResultEntry);
  // What was found before a limit counts; nothing before it is no absence.
  const isCut =
    code !== undefined &&
    (code === resultCodes.sizeLimitExceeded || (entries.length > 0 && cutCodes.has(code)));
  if (code !== resultCodes.success && !isCut) throw serverFailed('ends the search', code);
  const attributes = entries.slice(0, maxEntries).flatMap(readEntry);
  const hasReference = answers.some(({ operation }) => operation === operations.searchResultReference);
  const openCode = isCut ? code : hasReference ? resultCodes.referral : undefined;
  return { attributes, ...(openCode !== undefined && { openCode }) };
}

/** True if the server refuses the search by a code that leaves nothing open. */
function isClosedToUs(failure: unknown): boolean {
  const code = failure instanceof LdapError ? failure.fields['resultCode'] : undefined;
  return typeof code === 'number' && !undecidedCodes.has(code);
}

function serverFailed(what: string, resultCode?: number): LdapError {
  const text = `The LDAP server ${what} with code ${resultCode}`;
  return new LdapError('LDAP_SERVER_FAILED', text, { fields: { resultCode } });
}

/** `(attribute=*)`. */
function presentFilter(attribute: string): Buffer {
  return der.implicit(7, false, Buffer.from(attribute, 'utf8'));
}

/**
 * `(&(mail=…)(|(userCertificate;binary=*)(userCertificate=*)…))` (DISC-08). The value goes into its own
 * field, so that it cannot be interpreted as a filter.
 */
export function discoveryFilter(mail: string): Buffer {
  const byMail = der.implicit(3, true, text('mail'), text(mail));
  const withCertificate = der.implicit(1, true, ...certificateAttributes.map(presentFilter));
  return der.implicit(0, true, byMail, withCertificate);
}

function text(value: string): Buffer {
  return der.octetString(Buffer.from(value, 'utf8'));
}
