import {
  filtersOfEntity,
  findEntities,
  type Alternative,
  type Distinct,
  type EntityKind,
  type EntitySeed,
  type FoundPage,
  type ProviderFilter,
  type ProviderIndex,
  type ProviderQuery,
  type SearchPool,
  type SharedEntities,
  type SharedIndexBytes,
  type TimeRange,
} from '../../../lib/provider-index/index.ts';
import { DirectoryError } from '../errors.ts';
import type { VerifiedSearch } from '../verification/apply-verification.ts';
import { bothRanges } from './dates.ts';
import { hasOwnNpi } from './own-npis.ts';
import type { ResourceKey } from './resource-ids.ts';
import type { Condition } from './search-parameters.ts';
import type { ResourceType } from './vocabulary.ts';

/** Searches for resources: which records they are made of. */
export interface ResourceSearch {
  find(
    type: ResourceType,
    conditions: readonly Condition[],
    page: Pick<ProviderQuery, 'offset' | 'limit'>,
  ): Promise<FoundResources>;
  /** The record that stands for a resource; undefined if there is none. */
  read(
    type: ResourceType,
    key: ResourceKey,
  ): Promise<{ index: ProviderIndex; row: number; distinct: Distinct | undefined } | undefined>;
  /**
   * Finds the organizations and places of an index that comes into service, if a search has ever needed them.
   */
  prepare(index: Pick<ProviderIndex, 'bytes' | 'times'>): Promise<void>;
}

/** A page; `distinct` if its rows stand for persons or entities. */
export interface FoundResources extends FoundPage {
  readonly distinct: Distinct | undefined;
}

const entityKinds: Partial<Readonly<Record<ResourceType, EntityKind>>> = {
  Organization: 'organization',
  Location: 'place',
};

export function createResourceSearch(
  pool: SearchPool,
  seed: EntitySeed,
  verified: VerifiedSearch | undefined,
): ResourceSearch {
  const entitiesOf = createEntityCache(seed);
  let areEntitiesUsed = false;

  /** The served index and, if they are needed, its entities. */
  async function open(
    needsEntities: boolean,
  ): Promise<{ index: ProviderIndex; entities: SharedEntities | undefined }> {
    for (;;) {
      const index = pool.current;
      if (index === undefined)
        throw new DirectoryError('DIRECTORY_NOT_READY', 'The index is being loaded', {
          retryAfterSeconds: 5,
        });
      if (!needsEntities) return { index, entities: undefined };
      areEntitiesUsed = true;
      const entities = await entitiesOf(index);
      // Meanwhile another index may have come into service.
      if (pool.current?.bytes === index.bytes) return { index: pool.current, entities };
    }
  }

  return {
    async prepare(index) {
      if (areEntitiesUsed) await entitiesOf(index);
    },
    async find(type, conditions, page) {
      const needsEntities = entityKinds[type] !== undefined || conditions.some(isAboutEntities);
      const { index, entities } = await open(needsEntities);
      const query = planQuery(type, conditions, index, entities);
      const wanted = wantedStates(conditions);
      const found =
        wanted === undefined || verified === undefined
          ? await pool.search({ ...query, ...page })
          : await verified.search({ ...query, ...page }, { states: wanted, sort: undefined });
      return { ...found, distinct: query.distinct };
    },
    async read(type, key) {
      const { index, entities } = await open(entityKinds[type] !== undefined);
      const [row] = rowsOf(key, index, entities);
      return row === undefined ? undefined : { index, row, distinct: distinctOf(type, entities) };
    },
  };
}

/** The entities of the index in service, found once. */
function createEntityCache(
  seed: EntitySeed,
): (index: Pick<ProviderIndex, 'bytes' | 'times'>) => Promise<SharedEntities> {
  const found = new WeakMap<SharedIndexBytes, Promise<SharedEntities>>();
  return (index) => {
    const { bytes } = index;
    let entities = found.get(bytes);
    if (entities === undefined) {
      entities = findEntities(index, seed);
      // A failure is not kept: the next search tries again.
      entities.catch(() => found.delete(bytes));
      found.set(bytes, entities);
    }
    return entities;
  };
}

type Entities = SharedEntities | undefined;

function planQuery(
  type: ResourceType,
  conditions: readonly Condition[],
  index: ProviderIndex,
  entities: Entities,
): Omit<ProviderQuery, 'offset' | 'limit'> {
  const filters: ProviderFilter[] = [];
  const alternatives: (readonly Alternative[])[] = [];
  let ids: readonly number[] | undefined;
  let radius: ProviderQuery['radius'];
  let changed: readonly TimeRange[] | undefined;
  for (const condition of conditions) {
    switch (condition.kind) {
      case 'everything':
      case 'states':
        break;
      case 'alternatives':
        // One alternative is a filter, as in the native search.
        if (condition.alternatives.length === 1) filters.push(...(condition.alternatives[0] as Alternative));
        else alternatives.push(condition.alternatives);
        break;
      case 'changed':
        changed = changed === undefined ? condition.ranges : bothRanges(changed, condition.ranges);
        break;
      case 'owners':
        alternatives.push(ownersOf(condition.npis, index));
        break;
      case 'near':
        radius = condition.radius;
        break;
      case 'keys':
        ids = both(ids, idsOf(condition.keys, index, entities));
        break;
      case 'references':
        if (condition.isDepartment) alternatives.push([withoutNpi, withoutName]);
        if (condition.keys.some(isEntity))
          alternatives.push(condition.keys.flatMap((key) => filtersOf(key, index, entities)));
        else ids = both(ids, idsOf(condition.keys, index, entities));
    }
  }
  const distinct = distinctOf(type, entities);
  return {
    filters,
    sort: [],
    ...(alternatives.length > 0 && { alternatives }),
    ...(ids && { ids }),
    ...(radius && { radius }),
    ...(changed && { changed }),
    ...(distinct && { distinct }),
  };
}

/** The states that all conditions allow; undefined without such a condition. */
function wantedStates(conditions: readonly Condition[]): ReadonlySet<string> | undefined {
  return conditions
    .flatMap((condition) => (condition.kind === 'states' ? [condition.states] : []))
    .reduce<ReadonlySet<string> | undefined>(
      (all, own) => (all === undefined ? own : new Set([...all].filter((state) => own.has(state)))),
      undefined,
    );
}

const withoutNpi: Alternative = [{ field: 'npi', match: 'exact', value: '' }];
const withoutName: Alternative = [{ field: 'lastName', match: 'exact', value: '' }];

/** The organizations of records that have one of these NPIs and name no person. */
function ownersOf(npis: readonly string[], index: ProviderIndex): Alternative[] {
  const owners = new Map<string, Alternative>();
  for (const npi of npis) {
    for (const row of index.findByNpi(npi)) {
      const record = index.record(row);
      if (!hasOwnNpi(record)) continue;
      const filters = filtersOfEntity(record, 'organization');
      owners.set(JSON.stringify(filters), filters);
    }
  }
  return [...owners.values()];
}

function isEntity({ kind }: ResourceKey): boolean {
  return kind === 'organization' || kind === 'place';
}

function isAboutEntities(condition: Condition): boolean {
  return (condition.kind === 'keys' || condition.kind === 'references') && condition.keys.some(isEntity);
}

function distinctOf(type: ResourceType, entities: Entities): Distinct | undefined {
  if (type === 'Practitioner') return { kind: 'person' };
  const kind = entityKinds[type];
  return kind === undefined || entities === undefined ? undefined : { kind, entities };
}

function both(a: readonly number[] | undefined, b: readonly number[]): readonly number[] {
  if (a === undefined) return b;
  const wanted = new Set(b);
  return a.filter((id) => wanted.has(id));
}

/** Ids of the records that resources are made of. */
function idsOf(keys: readonly ResourceKey[], index: ProviderIndex, entities: Entities): number[] {
  return keys.flatMap((key) => rowsOf(key, index, entities).map((row) => index.record(row).id));
}

function filtersOf(key: ResourceKey, index: ProviderIndex, entities: Entities): Alternative[] {
  if (key.kind !== 'organization' && key.kind !== 'place') return [];
  return rowsOf(key, index, entities).map((row) => filtersOfEntity(index.record(row), key.kind));
}

/** One row for an organization or place, all that name a person. */
function rowsOf(key: ResourceKey, index: ProviderIndex, entities: Entities): number[] {
  switch (key.kind) {
    case 'npi':
      return namedRows(index, key.npi);
    case 'record':
      return present(index.findById(key.id));
    case 'unnumbered':
      return present(index.findById(key.id)).filter((row) => {
        const { npi, lastName } = index.record(row);
        return npi === '' && lastName !== '';
      });
    case 'organization':
    case 'place':
      return present(entities && index.findEntity(key.kind, key.hash, entities));
  }
}

function present(row: number | undefined): number[] {
  return row === undefined ? [] : [row];
}

/** Rows of an NPI that name a person, by id. */
function namedRows(index: ProviderIndex, npi: string): number[] {
  return [...index.findByNpi(npi)].filter((row) => index.record(row).lastName !== '');
}
