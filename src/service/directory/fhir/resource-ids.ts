import type { EntityHash, EntityKind } from '../../../lib/provider-index/index.ts';
import type { ResourceType } from './vocabulary.ts';

/** The record or entity that a resource id names (Decision 0028). */
export type ResourceKey =
  | { readonly kind: 'record'; readonly id: number }
  | { readonly kind: 'npi'; readonly npi: string }
  /** A person without an NPI. */
  | { readonly kind: 'unnumbered'; readonly id: number }
  | { readonly kind: EntityKind; readonly hash: EntityHash };

const forms: Readonly<Record<ResourceType, RegExp>> = {
  Endpoint: /^(e)-([1-9][0-9]{0,15}|0)$/,
  PractitionerRole: /^(r)-([1-9][0-9]{0,15}|0)$/,
  Practitioner: /^(?:(npi)-([0-9]{10})|(p)-([1-9][0-9]{0,15}|0))$/,
  Organization: /^(o)-([0-9a-f]{16})$/,
  Location: /^(l)-([0-9a-f]{16})$/,
};

/** Undefined for an id of another form. */
export function parseResourceId(type: ResourceType, text: string): ResourceKey | undefined {
  const [prefix, rest] = (forms[type].exec(text) ?? []).slice(1).filter((part) => part !== undefined);
  if (prefix === undefined || rest === undefined) return undefined;
  if (prefix === 'npi') return { kind: 'npi', npi: rest };
  if (prefix === 'o' || prefix === 'l')
    return { kind: prefix === 'o' ? 'organization' : 'place', hash: parseHash(rest) };
  const id = Number(rest);
  if (!Number.isSafeInteger(id)) return undefined;
  return { kind: prefix === 'p' ? 'unnumbered' : 'record', id };
}

function parseHash(digits: string): EntityHash {
  return { high: Number.parseInt(digits.slice(0, 8), 16), low: Number.parseInt(digits.slice(8), 16) };
}
