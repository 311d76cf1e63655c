import {
  Asn1Error,
  childAt,
  contentBytes,
  der,
  readAsn1,
  readBoolean,
  readOctetString,
  readSmallInteger,
  sequenceItems,
  setItems,
  type Asn1,
} from '../asn1/index.ts';
import { viewAsBuffer } from '../../core/index.ts';
import { LdapError } from './errors.ts';
import { maxFilterDepth, maxRequestElements, maxResponseElements } from './limits.ts';

/** Tags of the protocol operations that the responder knows (RFC 4511 §4.2 to §4.14). */
export const operations = {
  bindRequest: 0,
  bindResponse: 1,
  unbindRequest: 2,
  searchRequest: 3,
  searchResultEntry: 4,
  searchResultDone: 5,
  searchResultReference: 19,
  abandonRequest: 16,
  extendedRequest: 23,
  extendedResponse: 24,
} as const;

/** Result codes (RFC 4511 appendix A). */
export const resultCodes = {
  success: 0,
  operationsError: 1,
  protocolError: 2,
  timeLimitExceeded: 3,
  sizeLimitExceeded: 4,
  authMethodNotSupported: 7,
  referral: 10,
  adminLimitExceeded: 11,
  unavailableCriticalExtension: 12,
  noSuchObject: 32,
  invalidCredentials: 49,
  busy: 51,
  unavailable: 52,
  unwillingToPerform: 53,
  other: 80,
} as const;

/** One LDAPMessage, in either direction. */
export interface LdapMessage {
  readonly id: number;
  /** The tag number of the operation. */
  readonly operation: number;
  readonly body: Asn1;
}

export interface LdapRequest extends LdapMessage {
  readonly hasCriticalControl: boolean;
}

export interface BindRequest {
  readonly version: number;
  readonly name: string;
  /** Undefined for SASL and other mechanisms. */
  readonly password: Uint8Array | undefined;
}

export interface SearchRequest {
  readonly base: string;
  readonly scope: 'base' | 'one' | 'sub';
  readonly sizeLimit: number;
  readonly isTypesOnly: boolean;
  readonly filter: Asn1;
  readonly attributes: readonly string[];
}

/** Reads one LDAPMessage (RFC 4511 §4.1.1). Throws `LDAP_MESSAGE_INVALID`. */
export function readRequest(bytes: Uint8Array): LdapRequest {
  return refusing(() => {
    const message = readAsn1(bytes, { maxDepth: maxFilterDepth + 8, maxNodes: maxRequestElements });
    const [id, body, controls] = sequenceItems(message);
    if (id === undefined || body === undefined || body.tagClass !== 1) throw invalid('no operation');
    const number = readSmallInteger(id);
    if (number < 0) throw invalid('a negative id');
    return { id: number, operation: body.tagNumber, body, hasCriticalControl: hasCriticalControl(controls) };
  });
}

function hasCriticalControl(controls: Asn1 | undefined): boolean {
  return (controls?.children ?? []).some((control) => {
    const criticality = sequenceItems(control)[1];
    return criticality?.tagClass === 0 && criticality.tagNumber === 1 && readBoolean(criticality);
  });
}

/** Throws `LDAP_MESSAGE_INVALID`. */
export function readBindRequest({ body }: LdapRequest): BindRequest {
  return refusing(() => {
    const authentication = childAt(body, 2);
    const isSimple = authentication.tagClass === 2 && authentication.tagNumber === 0;
    return {
      version: readSmallInteger(childAt(body, 0)),
      name: readString(childAt(body, 1)),
      password: isSimple ? contentBytes(authentication) : undefined,
    };
  });
}

const scopes = ['base', 'one', 'sub'] as const;

/** Throws `LDAP_MESSAGE_INVALID`. */
export function readSearchRequest({ body }: LdapRequest): SearchRequest {
  return refusing(() => {
    const scope = scopes[readSmallInteger(childAt(body, 1))];
    if (scope === undefined) throw invalid('an unknown scope');
    return {
      base: readString(childAt(body, 0)),
      scope,
      sizeLimit: readSmallInteger(childAt(body, 3)),
      isTypesOnly: readBoolean(childAt(body, 5)),
      filter: childAt(body, 6),
      attributes: sequenceItems(childAt(body, 7)).map(readString),
    };
  });
}

/** Reads a message that a server sent. Throws `LDAP_MESSAGE_INVALID`. */
export function readMessage(bytes: Uint8Array): LdapMessage {
  return refusing(() => {
    const [id, body] = sequenceItems(readAsn1(bytes, { maxDepth: 16, maxNodes: maxResponseElements }));
    if (id === undefined || body === undefined || body.tagClass !== 1) throw invalid('no operation');
    return { id: readSmallInteger(id), operation: body.tagNumber, body };
  });
}

/** The code of an LDAPResult. Throws `LDAP_MESSAGE_INVALID`. */
export function readResultCode({ body }: LdapMessage): number {
  return refusing(() => readSmallInteger(childAt(body, 0)));
}

/** The attributes of a SearchResultEntry. Throws `LDAP_MESSAGE_INVALID`. */
export function readEntry({ body }: LdapMessage): Attribute[] {
  return refusing(() =>
    sequenceItems(childAt(body, 1)).map((attribute) => ({
      name: readString(childAt(attribute, 0)),
      values: setItems(childAt(attribute, 1)).map(readOctetString),
    })),
  );
}

/** The anonymous bind (RFC 4513 §5.1.1). */
export function writeBindRequest(id: number): Buffer {
  return writeMessage(id, operations.bindRequest, der.integer(3), text(''), der.implicit(0, false));
}

export interface SearchParameters {
  readonly base: string;
  readonly scope: 'base' | 'one' | 'sub';
  /** As `find-certificates.ts` makes it. */
  readonly filter: Uint8Array;
  readonly attributes: readonly string[];
  readonly sizeLimit: number;
  readonly timeLimitSeconds: number;
}

/** RFC 4511 §4.5.1, without following aliases. */
export function writeSearchRequest(id: number, parameters: SearchParameters): Buffer {
  return writeMessage(
    id,
    operations.searchRequest,
    text(parameters.base),
    der.enumerated(scopes.indexOf(parameters.scope)),
    der.enumerated(0),
    der.integer(parameters.sizeLimit),
    der.integer(parameters.timeLimitSeconds),
    der.boolean(false),
    parameters.filter,
    der.sequence(...parameters.attributes.map(text)),
  );
}

/** An LDAPString as text; octets that are no UTF-8 become replacement characters, which match nothing. */
export function readString(node: Asn1): string {
  return viewAsBuffer(readOctetString(node)).toString('utf8');
}

export interface Attribute {
  readonly name: string;
  readonly values: readonly Uint8Array[];
}

export function writeEntry(id: number, dn: string, attributes: readonly Attribute[]): Buffer {
  const list = attributes.map(({ name, values }) =>
    der.sequence(text(name), der.tlv(0x31, ...values.map((value) => der.octetString(value)))),
  );
  return writeMessage(id, operations.searchResultEntry, text(dn), der.sequence(...list));
}

/** A response that consists of an LDAPResult alone. The message is for people. */
export function writeResult(id: number, operation: number, code: number, message = ''): Buffer {
  return writeMessage(id, operation, der.enumerated(code), text(''), text(message));
}

/** RFC 4511 §4.4.1: says why the connection is about to end. */
export function writeDisconnection(code: number, message: string): Buffer {
  const name = der.implicit(10, false, Buffer.from('1.3.6.1.4.1.1466.20036'));
  return writeMessage(0, operations.extendedResponse, der.enumerated(code), text(''), text(message), name);
}

function writeMessage(id: number, operation: number, ...content: readonly Uint8Array[]): Buffer {
  return der.sequence(der.integer(id), der.tlv(0x60 | operation, ...content));
}

function text(value: string): Buffer {
  return der.octetString(Buffer.from(value, 'utf8'));
}

/** Translates the reader's errors into ours. */
export function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof Asn1Error)
      throw new LdapError('LDAP_MESSAGE_INVALID', 'Not an LDAP message', { cause });
    throw cause;
  }
}

function invalid(what: string): LdapError {
  return new LdapError('LDAP_MESSAGE_INVALID', `The LDAP message has ${what}`);
}
