import { findJsonFault, type JsonLimits } from '../../../../core/index.ts';

/** Reads untrusted FHIR: a value that is missing or of another type counts as absent. */

type JsonObject = Readonly<Record<string, unknown>>;

/** A resource whose type has been checked. */
export type Resource = JsonObject;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Twice what a line of the longest length may hold by right: JSON.parse makes 580 MB of 20 MB of empty lists,
 * and several gigabytes of lists in lists.
 */
const limits: JsonLimits = {
  maxDepth: 100,
  maxNames: 400_000,
  maxValues: 1_000_000,
  maxNameBytes: 256,
  maxLiteralBytes: 400,
  isLenient: true,
};
/** Lines up to this length are parsed as they are, since their cost is bounded by the length. */
const harmlessBytes = 64 * 1024;

/** The resource on a line, or undefined if it is not JSON, beyond the limits, or of another type. */
export function parseResource(bytes: Buffer, start: number, end: number, type: string): Resource | undefined {
  if (end - start > harmlessBytes && findJsonFault(bytes.subarray(start, end), limits) !== undefined)
    return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString('utf8', start, end).replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
  return isObject(parsed) && parsed['resourceType'] === type ? parsed : undefined;
}

export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** A text without white space around it; '' if there is none. */
export function textAt(value: unknown, name: string): string {
  const text = memberOf(value, name);
  return typeof text === 'string' ? text.trim() : '';
}

/** The items of a list, a single value as a list of one, and nothing as none. */
export function itemsAt(value: unknown, name: string): readonly unknown[] {
  const member = memberOf(value, name);
  if (Array.isArray(member)) return member;
  return member === undefined || member === null ? [] : [member];
}

export function textsAt(value: unknown, name: string): string[] {
  return itemsAt(value, name)
    .filter((item) => typeof item === 'string')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** True unless the resource says that it is not active. */
export function isActive(resource: Resource): boolean {
  return resource['active'] !== false;
}

/** The codings of a member that is a Coding, a CodeableConcept or a list of either. */
export function codingsAt(value: unknown, name: string): readonly unknown[] {
  return itemsAt(value, name).flatMap((item) =>
    memberOf(item, 'coding') === undefined ? [item] : itemsAt(item, 'coding'),
  );
}

/**
 * The id that a reference names, as `Endpoint/<id>`, also at the end of a URL or with a version; '' if it
 * names none.
 */
export function referencedId(reference: unknown, type: string): string {
  const text = textAt(reference, 'reference');
  const prefix = `${type}/`;
  const at = text.startsWith(prefix) ? 0 : text.lastIndexOf(`/${prefix}`) + 1;
  if (at === 0 && !text.startsWith(prefix)) return '';
  const id = text.slice(at + prefix.length);
  const version = id.indexOf('/_history/');
  return version < 0 ? id : id.slice(0, version);
}

/** The id of a member that is a reference, or of the first in a list of them. */
export function referenceAt(resource: unknown, name: string, type: string): string {
  return referencedId(itemsAt(resource, name)[0], type);
}

/** The value of the boolean extension whose address ends in `/<name>`. */
export function hasTrueExtension(resource: Resource, name: string): boolean {
  return itemsAt(resource, 'extension').some(
    (extension) =>
      textAt(extension, 'url').endsWith(`/${name}`) && memberOf(extension, 'valueBoolean') === true,
  );
}
