/**
 * The directory as FHIR resources: read, search, export (Decision 0028).
 * Used by `service/directory`.
 * Begin with `createFhir` here; `make-resources.ts` for the resources, `search-parameters.ts` for their
 * parameters.
 */
import type { Readable } from 'node:stream';
import type { Clock, Log, RateLimitResult } from '../../../core/index.ts';
import type { Gazetteer } from '../../../lib/geo/index.ts';
import type { EntitySeed, SearchPool, Envelope } from '../../../lib/provider-index/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { DirectoryAnswer, WrittenAnswer } from '../answer.ts';
import { DirectoryError } from '../errors.ts';
import type { DirectoryCaller } from '../guard/guard-client.ts';
import { maxPageSize } from '../limits.ts';
import type { AddressStates } from '../verification/address-states.ts';
import type { VerifiedSearch } from '../verification/apply-verification.ts';
import { makeCapabilities, type CapabilityOptions } from './capabilities.ts';
import { createOpenExport } from './export.ts';
import { findIncluded } from './include.ts';
import { createResourceMaker, type LocatedRecord, type Resource } from './make-resources.ts';
import { parseSince } from './dates.ts';
import { parseExport, type ExportScope } from './parse-export.ts';
import { warn, type OperationOutcome } from './outcome.ts';
import {
  isShowingStates,
  parseSearch,
  parseView,
  type ParsedSearch,
  type SentParameters,
} from './parse-search.ts';
import { parseResourceId } from './resource-ids.ts';
import { createResourceSearch, type ResourceSearch } from './run-search.ts';
import { viewBundle, viewResource } from './view.ts';
import type { ResourceType } from './vocabulary.ts';
import { createResourceWriter, type ResourceWriter } from './write-resources.ts';

/** The caller, and the options of the request. */
export interface FhirRequest {
  readonly caller: DirectoryCaller;
  /** The address of the FHIR service as the client knows it. */
  readonly base: string;
  readonly onLimits?: (state: RateLimitResult) => void;
}

/**
 * The directory as FHIR R4 resources, under the same limits, quota and audit as the search (Decision 0028).
 */
export interface FhirDirectory {
  /** Throws DirectoryError; with `isStrict` also for parameters that are not supported. */
  search(
    type: ResourceType,
    parameters: SentParameters,
    request: FhirRequest & { readonly isStrict: boolean },
  ): Promise<DirectoryAnswer>;
  /** Of the parameters, those that say what is shown count. Throws DirectoryError. */
  read(
    type: ResourceType,
    id: string,
    request: FhirRequest & { readonly parameters?: SentParameters },
  ): Promise<DirectoryAnswer>;
  capabilities(options: Omit<CapabilityOptions, 'date' | 'hasStates'>): object;
  /** Finds what searches of an index that comes into service will need, if earlier ones have needed it. */
  prepare: ResourceSearch['prepare'];
  readonly bulk: BulkExport;
}

/** Exports of records of open sources (Bulk Data Access). A closed source's record is never in one. */
export interface BulkExport {
  /** Throws DirectoryError, also for what is not supported; with `isLenient` that is ignored and reported. */
  begin(parameters: SentParameters, isLenient: boolean, caller: DirectoryCaller): Promise<BegunExport>;
  /**
   * The manifest of an export; `query` is that of the request that began it, with its question mark. Throws
   * DIRECTORY_EXPORT_CHANGED.
   */
  manifest(name: ExportName, base: string, query: string): Promise<object>;
  /** A file as NDJSON. Throws DIRECTORY_EXPORT_CHANGED, DIRECTORY_EXPORT_BUSY. */
  file(tag: string, type: ResourceType, since: string, caller: DirectoryCaller): Promise<Readable>;
}

export interface ExportName extends ExportScope {
  readonly tag: string;
}

export interface BegunExport extends ExportName {
  /** Names what was ignored. */
  readonly outcome: OperationOutcome | undefined;
}

export interface FhirOptions {
  readonly pool: SearchPool;
  readonly seed: EntitySeed;
  readonly gazetteer: Gazetteer;
  readonly clock: Clock;
  /** The states of addresses, shown on request; without it they cannot be requested. */
  readonly states: AddressStates | undefined;
  /** Searches by these states. */
  readonly verified: VerifiedSearch | undefined;
  /** Answers within limits, quota and audit. */
  readonly storage: Storage;
  readonly nodeId: string | undefined;
  readonly log: Log;
  /** Refuses a client that may not export, and leaves an audit row. */
  readonly admitExport: (caller: DirectoryCaller, resource: string) => Promise<void>;
  readonly answer: (
    caller: DirectoryCaller,
    parameters: SentParameters,
    onLimits: ((state: RateLimitResult) => void) | undefined,
    query: () => Promise<WrittenAnswer>,
    resource: ResourceType,
  ) => Promise<DirectoryAnswer>;
}

export function createFhir(options: FhirOptions): FhirDirectory {
  const { pool, seed, gazetteer, clock, states, verified, answer, admitExport } = options;
  const search = createResourceSearch(pool, seed, verified);
  const make = createResourceMaker(seed, {
    isFromGazetteer: (record) => isFromGazetteer(record, gazetteer),
  });
  const plainWriter = createResourceWriter(make);
  const verifiedWriter = createResourceWriter(make, states);
  const open = createOpenExport({ ...options, make });
  const date = clock.now();

  async function writerFor(showsStates: boolean): Promise<ResourceWriter> {
    if (!showsStates || states === undefined) return plainWriter;
    await states.refresh();
    return verifiedWriter;
  }

  async function runSearch(base: string, type: ResourceType, parsed: ParsedSearch): Promise<WrittenAnswer> {
    const { conditions, count, offset, include, revinclude, showsStates, view } = parsed;
    const writer = await writerFor(showsStates);
    const page = await search.find(type, conditions, { offset, limit: count });
    const followsReferences = include.length + revinclude.length > 0;
    const { resources: included, isCut } = followsReferences
      ? await findIncluded(
          writer.resources(type, page),
          { include, revinclude, limit: maxPageSize },
          search,
          writer,
        )
      : { resources: [], isCut: false };
    const total = page.totalCount;
    const bundle = makeBundle(base, type, parsed, {
      total,
      found: page.rows.length,
      writeFound: (envelope) => writer.entries(type, page, base, envelope),
      included,
      outcome: outcomeOf(parsed, isCut),
    });
    return { totalCount: total, count: page.rows.length + included.length, json: viewBundle(bundle, view) };
  }

  return {
    search: (type, parameters, { caller, base, onLimits, isStrict }) =>
      answer(
        caller,
        parameters,
        onLimits,
        () =>
          runSearch(
            base,
            type,
            parseSearch(type, parameters, { base, isStrict, hasStates: states !== undefined }),
          ),
        type,
      ),
    read: (type, id, { caller, onLimits, parameters = [] }) =>
      answer(
        caller,
        [['_id', id]],
        onLimits,
        async () => {
          const key = parseResourceId(type, id);
          const place = key && (await search.read(type, key));
          const rows = place && Uint32Array.of(place.row);
          const view = parseView(parameters);
          const writer = await writerFor(parameters.some(isShowingStates));
          const resource = rows && writer.resources(type, { ...place, rows })[0];
          if (resource === undefined)
            throw new DirectoryError('DIRECTORY_RESOURCE_NOT_FOUND', 'No resource with this id');
          return { totalCount: 1, count: 1, json: viewResource(Buffer.from(resource.json), view) };
        },
        type,
      ),
    prepare: search.prepare,
    capabilities: (about) => makeCapabilities({ ...about, date, hasStates: states !== undefined }),
    bulk: {
      async begin(parameters, isLenient, caller) {
        await admitExport(caller, 'all');
        const { types, since, ignored } = parseExport(parameters, isLenient);
        const outcome = ignored.length === 0 ? undefined : warn(ignored);
        return { types, since, tag: (await open.tag()).tag, outcome };
      },
      async manifest({ tag, types, since }, base, query) {
        const state = await open.tag();
        if (tag !== state.tag)
          throw new DirectoryError('DIRECTORY_EXPORT_CHANGED', 'The open sources have changed');
        return {
          transactionTime: new Date(state.changedAt * 1000).toISOString(),
          request: `${base}/$export${query}`,
          requiresAccessToken: true,
          output: types.map((type) => ({
            type,
            url: `${base}/$export-file/${tag}/${type}.ndjson${since === '' ? '' : `?_since=${encodeURIComponent(since)}`}`,
          })),
          error: [],
        };
      },
      async file(tag, type, since, caller) {
        await admitExport(caller, type);
        return open.write(type, tag, parseSince(since)?.[0]);
      },
    },
  };
}

function outcomeOf({ ignored }: ParsedSearch, isCut: boolean): OperationOutcome | undefined {
  const problems = [
    ...ignored,
    ...(isCut
      ? [
          {
            field: '_include',
            reason: 'cut',
            detail: `At most ${maxPageSize} resources are included; search for the others by reference.`,
          },
        ]
      : []),
  ];
  return problems.length === 0 ? undefined : warn(problems);
}

// A load gives a record without coordinates those of its ZIP code, or else of its city.
function isFromGazetteer(record: LocatedRecord, gazetteer: Gazetteer): boolean {
  const { zip } = record;
  const point =
    (zip === '' ? undefined : gazetteer.findZip(zip)) ?? gazetteer.findCity(record.city, record.state);
  return point !== undefined && point.latitude === record.latitude && point.longitude === record.longitude;
}

interface BundleContent {
  readonly total: number;
  readonly found: number;
  /** Writes the entries of the found resources, with commas between them, in an envelope. */
  readonly writeFound: (envelope: Envelope) => Uint8Array;
  readonly included: readonly Resource[];
  readonly outcome: OperationOutcome | undefined;
}

/**
 * The answer to a search as UTF-8 JSON text. `base` is the address of the FHIR service, without a slash at
 * its end.
 */
function makeBundle(
  base: string,
  type: ResourceType,
  { used, offset, count }: ParsedSearch,
  { total, found, writeFound, included, outcome }: BundleContent,
): Uint8Array {
  const linkTo = (place: number): string => {
    const parameters: SentParameters = place === 0 ? used : [...used, ['_offset', String(place)]];
    const query = new URLSearchParams(
      parameters.map(([name, value]): [string, string] => [name, value]),
    ).toString();
    return `${base}/${type}${query === '' ? '' : `?${query}`}`;
  };
  const server = JSON.stringify(base).slice(1, -1);
  const entry = ({ type: kind, id, json }: Resource): string =>
    `{"fullUrl":"${server}/${kind}/${id}","resource":${json},"search":{"mode":"include"}}`;
  const next = offset + count;
  const link = [
    { relation: 'self', url: linkTo(offset) },
    ...(count > 0 && next < total ? [{ relation: 'next', url: linkTo(next) }] : []),
  ];
  const others = [
    ...included.map(entry),
    ...(outcome === undefined ? [] : [JSON.stringify({ resource: outcome, search: { mode: 'outcome' } })]),
  ];
  const head = `{"resourceType":"Bundle","type":"searchset","total":${total},"link":${JSON.stringify(link)}`;
  if (found === 0 && others.length === 0) return Buffer.from(`${head}}`);
  const between = found > 0 && others.length > 0 ? ',' : '';
  return writeFound({
    before: Buffer.from(`${head},"entry":[`),
    after: Buffer.from(`${between}${others.join(',')}]}`),
  });
}
