import type { Resource } from './make-resources.ts';
import type { ResourceWriter } from './write-resources.ts';
import type { Include } from './parse-search.ts';
import { parseResourceId } from './resource-ids.ts';
import type { ResourceSearch } from './run-search.ts';
import type { ResourceType } from './vocabulary.ts';

export interface Included {
  readonly resources: readonly Resource[];
  /** True if there are more than a page may hold. */
  readonly isCut: boolean;
}

export interface IncludeOptions {
  readonly include: readonly Include[];
  readonly revinclude: readonly string[];
  /** Resources that may be added. */
  readonly limit: number;
}

/**
 * Follows references: first to the resources that refer to the found ones, then forward. Returns each
 * resource once.
 */
export async function findIncluded(
  found: readonly Resource[],
  { include, revinclude, limit }: IncludeOptions,
  search: ResourceSearch,
  writer: ResourceWriter,
): Promise<Included> {
  const known = new Set(found.map(keyOf));
  const added: Resource[] = [];
  let isCut = false;
  const add = (one: Resource | undefined): void => {
    if (one === undefined || known.has(keyOf(one))) return;
    if (added.length >= limit) isCut = true;
    else {
      known.add(keyOf(one));
      added.push(one);
    }
  };
  for (const path of revinclude) {
    for (const resource of found) {
      if (isCut) break;
      const referring = await findReferring(resource, path, limit - added.length + 1, search, writer);
      for (const one of referring) add(one);
    }
  }
  for (const { path, iterates } of include) {
    const [source = '', name = ''] = path.split(':');
    const from = iterates ? [...found, ...added] : found;
    for (const resource of from)
      if (resource.type === source && !isCut) add(await follow(resource, name, search, writer));
  }
  return { resources: added, isCut };
}

function keyOf({ type, id }: Resource): string {
  return `${type}/${id}`;
}

async function findReferring(
  { type: target, id }: Resource,
  path: string,
  limit: number,
  search: ResourceSearch,
  writer: ResourceWriter,
): Promise<Resource[]> {
  const [type] = path.split(':') as [ResourceType];
  const key = parseResourceId(target, id);
  if (key === undefined) return [];
  const isDepartment = type === 'Endpoint';
  const page = await search.find(type, [{ kind: 'references', keys: [key], isDepartment }], {
    offset: 0,
    limit,
  });
  return writer.resources(type, page);
}

async function follow(
  found: Resource,
  name: string,
  search: ResourceSearch,
  writer: ResourceWriter,
): Promise<Resource | undefined> {
  const reference = found.reference(name);
  if (reference === undefined) return undefined;
  const [type, id] = reference.split('/') as [ResourceType, string];
  const key = parseResourceId(type, id);
  const place = key && (await search.read(type, key));
  return place && writer.resources(type, { ...place, rows: Uint32Array.of(place.row) })[0];
}
