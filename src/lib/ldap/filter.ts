import { childAt, contentBytes, type Asn1 } from '../asn1/index.ts';
import { viewAsBuffer } from '../../core/index.ts';
import { LdapError } from './errors.ts';
import { maxFilterDepth } from './limits.ts';
import { readString, refusing, type Attribute } from './message.ts';

/** A search filter (RFC 4511 §4.5.1.7). Kinds that the responder does not evaluate are `unknown`. */
export type LdapFilter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly LdapFilter[] }
  | { readonly kind: 'not'; readonly filter: LdapFilter }
  | { readonly kind: 'equals'; readonly attribute: string; readonly value: string }
  | { readonly kind: 'present'; readonly attribute: string }
  | { readonly kind: 'unknown' };

/** Throws `LDAP_MESSAGE_INVALID`. */
export function readFilter(node: Asn1): LdapFilter {
  return refusing(() => readNode(node, maxFilterDepth));
}

function readNode(node: Asn1, depthLeft: number): LdapFilter {
  if (node.tagClass !== 2 || depthLeft === 0)
    throw new LdapError('LDAP_MESSAGE_INVALID', 'Not a search filter');
  const readAll = () => node.children.map((child) => readNode(child, depthLeft - 1));
  switch (node.tagNumber) {
    case 0:
      return { kind: 'and', filters: readAll() };
    case 1:
      return { kind: 'or', filters: readAll() };
    case 2:
      return { kind: 'not', filter: readNode(childAt(node, 0), depthLeft - 1) };
    case 3:
      return {
        kind: 'equals',
        attribute: attributeKey(readString(childAt(node, 0))),
        value: readString(childAt(node, 1)),
      };
    case 7:
      return { kind: 'present', attribute: attributeKey(viewAsBuffer(contentBytes(node)).toString('utf8')) };
    default:
      return { kind: 'unknown' };
  }
}

/**
 * The comparison key of an attribute description. `userCertificate` and `userCertificate;binary` are the same
 * attribute in another encoding (RFC 4522 §3), and discovery clients ask for either.
 */
export function attributeKey(description: string): string {
  const key = description.toLowerCase();
  return key.endsWith(';binary') ? key.slice(0, -';binary'.length) : key;
}

/**
 * Evaluates a filter on an entry in three values: undefined stands for "does not know" (RFC 4511 §4.5.1.7).
 */
export function matches(filter: LdapFilter, attributes: readonly Attribute[]): boolean | undefined {
  switch (filter.kind) {
    case 'and':
      return combine(filter.filters, attributes, false);
    case 'or':
      return combine(filter.filters, attributes, true);
    case 'not': {
      const result = matches(filter.filter, attributes);
      return result === undefined ? undefined : !result;
    }
    case 'equals':
      return valuesOf(filter.attribute, attributes).some((value) => equalText(value, filter.value));
    case 'present':
      return valuesOf(filter.attribute, attributes).length > 0;
    case 'unknown':
      return undefined;
  }
}

/** One member with the `decisive` value decides; else one that does not know leaves it open. */
function combine(
  filters: readonly LdapFilter[],
  attributes: readonly Attribute[],
  decisive: boolean,
): boolean | undefined {
  const results = filters.map((filter) => matches(filter, attributes));
  if (results.includes(decisive)) return decisive;
  return results.includes(undefined) ? undefined : !decisive;
}

function valuesOf(key: string, attributes: readonly Attribute[]): readonly Uint8Array[] {
  return attributes
    .filter((attribute) => attributeKey(attribute.name) === key)
    .flatMap((attribute) => attribute.values);
}

// Direct compares addresses without case (AS-02), and so do the matching rules of the other attributes here.
function equalText(value: Uint8Array, wanted: string): boolean {
  return viewAsBuffer(value).toString('utf8').toLowerCase() === wanted.trim().toLowerCase();
}

/**
 * The mail values of which one must be the entry's for the filter to hold, or undefined when the filter does
 * not say: then answering would mean to go through all entries.
 */
export function mailValues(filter: LdapFilter): readonly string[] | undefined {
  switch (filter.kind) {
    case 'equals':
      return filter.attribute === 'mail' ? [filter.value.trim().toLowerCase()] : undefined;
    case 'and':
      return filter.filters.map(mailValues).find((values) => values !== undefined);
    case 'or': {
      const all = filter.filters.map(mailValues);
      return all.length > 0 && all.every((values) => values !== undefined)
        ? [...new Set(all.flat())]
        : undefined;
    }
    default:
      return undefined;
  }
}
