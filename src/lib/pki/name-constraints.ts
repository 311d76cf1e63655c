import { childAt, contentBytes, isContext, type Asn1 } from '../asn1/index.ts';
import { readRelativeNames, type RelativeNames } from './distinguished-name.ts';
import { findPlainText, type GeneralNames } from './general-names.ts';
import { PkiError } from './errors.ts';
import { oids } from './oids.ts';

/** Permitted and excluded subtrees (RFC 5280 §4.2.1.10). */
export interface NameConstraints {
  readonly permitted: Subtrees;
  readonly excluded: Subtrees;
  /**
   * A subtree has a `minimum` over 0 or a `maximum`, which this profile does not allow: the CA may vouch for
   * nothing.
   */
  readonly hasDistance: boolean;
}

interface Subtrees {
  /** Mailboxes, hosts or `.domains`, in lower case. */
  readonly rfc822: readonly string[];
  readonly dns: readonly string[];
  /** Keys of each relative name of the base, in order. */
  readonly directory: readonly (readonly string[])[];
  /**
   * Tag numbers of constraints that this module cannot apply: URI, IP address, other, and mailboxes or hosts
   * that are none. Some programs write `@host` or `*.domain`, and mean all of it.
   */
  readonly otherKinds: ReadonlySet<number>;
}

/** The names of one certificate to hold against the constraints of the CAs above it. */
export interface ConstrainedNames {
  readonly subject: RelativeNames;
  readonly names: GeneralNames;
}

const tagRfc822 = 1;
const tagDns = 2;
const tagDirectory = 4;

/**
 * Errors: those of lib/asn1, and `PKI_CERTIFICATE_MALFORMED` for a base with characters that no name may
 * have.
 */
export function readNameConstraints(node: Asn1): NameConstraints {
  const [permitted, excluded] = [0, 1].map((tag) => node.children.find((part) => isContext(part, tag)));
  return {
    permitted: readSubtrees(permitted),
    excluded: readSubtrees(excluded),
    hasDistance: [permitted, excluded].some((list) => list?.children.some(hasDistance) === true),
  };
}

/** Some encoders write the default minimum of 0, which DER leaves out. */
function hasDistance(subtree: Asn1): boolean {
  return subtree.children
    .slice(1)
    .some((part) => !isContext(part, 0) || contentBytes(part).some((octet) => octet !== 0));
}

function readSubtrees(node: Asn1 | undefined): Subtrees {
  const rfc822: string[] = [];
  const dns: string[] = [];
  const directory: string[][] = [];
  const otherKinds = new Set<number>();
  for (const subtree of node?.children ?? []) {
    const base = childAt(subtree, 0);
    const list = { [tagRfc822]: rfc822, [tagDns]: dns }[base.tagNumber];
    const text = list === undefined ? '' : readBase(base);
    if (list !== undefined && isBase(text, base.tagNumber)) list.push(text);
    else if (base.tagNumber === tagDirectory)
      directory.push(relativeKeys(readRelativeNames(childAt(base, 0))));
    else otherKinds.add(base.tagNumber);
  }
  return { rfc822, dns, directory, otherKinds };
}

function readBase(node: Asn1): string {
  // An empty base permits or excludes every name of its kind.
  if (contentBytes(node).length === 0) return '';
  const text = findPlainText(node);
  if (text === undefined)
    throw new PkiError('PKI_CERTIFICATE_MALFORMED', 'a name constraint with characters out of place');
  return text.toLowerCase();
}

const host = /^\.?[\w-]+(?:\.[\w-]+)*$/;
const mailbox = /^[^@"]+@[\w-]+(?:\.[\w-]+)*$/;

/** RFC 5280 §4.2.1.10. Of a name that is none nobody can tell which names are meant. */
function isBase(text: string, tag: number): boolean {
  return text === '' || host.test(text) || (tag === tagRfc822 && mailbox.test(text));
}

function relativeKeys(names: RelativeNames): string[] {
  return names.map((relative) =>
    relative
      .map((attribute) => attribute.key)
      .toSorted()
      .join('+'),
  );
}

/** The first name that the constraints forbid, described for an operator; undefined if none is forbidden. */
export function findForbiddenName(
  constraints: NameConstraints,
  { subject, names }: ConstrainedNames,
): string | undefined {
  return (
    findForbidden(constraints, 'rfc822', mailboxesOf(subject, names), mailboxMatcher) ??
    findForbidden(constraints, 'dns', names.dnsNames, dnsMatcher) ??
    findForbiddenDirectory(constraints, subject, names) ??
    findUncheckable(constraints, names)
  );
}

/**
 * The same for the Direct address that a certificate is used for, by any kind of name.
 *
 * A dNSName is valid for every address of its domain (AS-10), so a CA limited to the mailboxes of one domain
 * must not evade that limit by issuing a dNSName; and a CA limited to hosts must not by an rfc822Name, unless
 * mailboxes are limited on their own.
 */
export function findForbiddenAddress(constraints: NameConstraints, address: string): string | undefined {
  const { permitted, excluded } = constraints;
  const isUnclear = [tagRfc822, tagDns].some(
    (tag) => permitted.otherKinds.has(tag) || excluded.otherKinds.has(tag),
  );
  if (isUnclear) return address;
  const hasMailboxRules = permitted.rfc822.length > 0 || excluded.rfc822.length > 0;
  if (hasMailboxRules) return findForbidden(constraints, 'rfc822', [address], mailboxMatcher);
  return findForbidden(constraints, 'dns', [address.slice(address.lastIndexOf('@') + 1)], dnsMatcher);
}

/**
 * The most comparisons of a name with a limit that `findForbiddenName` makes for such names. Whoever issues a
 * certificate chooses both numbers, and their product is the work.
 */
export function countComparisons(
  { permitted, excluded }: NameConstraints,
  { subject, names }: ConstrainedNames,
): number {
  const limitsOf = (kind: 'rfc822' | 'dns' | 'directory'): number =>
    permitted[kind].length + excluded[kind].length;
  return (
    mailboxesOf(subject, names).length * limitsOf('rfc822') +
    names.dnsNames.length * limitsOf('dns') +
    (1 + names.directoryNames.length) * limitsOf('directory')
  );
}

function findForbidden(
  { permitted, excluded }: NameConstraints,
  kind: 'rfc822' | 'dns',
  names: readonly string[],
  matcherOf: (name: string) => (base: string) => boolean,
): string | undefined {
  return names.find((text) => {
    const matches = matcherOf(text.toLowerCase());
    if (excluded[kind].some(matches)) return true;
    return permitted[kind].length > 0 && !permitted[kind].some(matches);
  });
}

/** RFC 5280 §4.2.1.10: the legacy attribute of the subject counts when the certificate has no rfc822Name. */
function mailboxesOf(subject: RelativeNames, names: GeneralNames): readonly string[] {
  if (names.rfc822Names.length > 0) return names.rfc822Names;
  return subject
    .flat()
    .filter((attribute) => attribute.oid === oids.emailAddressAttribute)
    .map((attribute) => attribute.value ?? '');
}

/**
 * A base with `@` is one mailbox, with a leading dot all hosts under a domain, else all mailboxes of one
 * host.
 */
function mailboxMatcher(name: string): (base: string) => boolean {
  const host = name.slice(name.lastIndexOf('@') + 1);
  return (base) => {
    if (base === '') return true;
    if (base.includes('@')) return name === base;
    return base.startsWith('.') ? host.endsWith(base) : host === base;
  };
}

/**
 * The base itself and every name made by adding labels on the left. A leading dot, though not in the RFC,
 * leaves the base out.
 */
function dnsMatcher(name: string): (base: string) => boolean {
  return (base) => {
    if (base === '') return true;
    if (base.startsWith('.')) return name.endsWith(base);
    return name === base || name.endsWith(`.${base}`);
  };
}

function findForbiddenDirectory(
  { permitted, excluded }: NameConstraints,
  subject: RelativeNames,
  names: GeneralNames,
): string | undefined {
  const all = [...(subject.length > 0 ? [subject] : []), ...names.directoryNames];
  const isForbidden = all.map(relativeKeys).some((keys) => {
    const isUnder = (base: readonly string[]): boolean => base.every((key, index) => keys[index] === key);
    if (excluded.directory.some(isUnder)) return true;
    return permitted.directory.length > 0 && !permitted.directory.some(isUnder);
  });
  return isForbidden ? 'the distinguished name' : undefined;
}

/** A constraint on a kind of name that occurs but cannot be compared here refuses (RFC 5280 §4.2.1.10). */
function findUncheckable({ permitted, excluded }: NameConstraints, names: GeneralNames): string | undefined {
  const kind = [...permitted.otherKinds, ...excluded.otherKinds].find((tag) => names.kinds.has(tag));
  return kind === undefined ? undefined : `a name of kind ${kind}, whose limits cannot be checked`;
}
