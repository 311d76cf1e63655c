import type { Readable } from 'node:stream';
import { Type } from 'typebox';
import {
  directoryParameters,
  listFindings,
  listLoads,
  maxPageSize,
  maxRadiusMiles,
  readSources,
  type DirectoryOperator,
  type FilterParameter,
  type FoundRecord,
  type LoadSummary,
  type ReportedLoad,
  type SuggestionAnswer,
  type UploadProgress,
} from '../../../service/directory/index.ts';
import { readVerificationStatus, setRunning } from '../../../service/verification/index.ts';
import { readParameters } from '../../http/index.ts';
import {
  directoryForm,
  directoryRecord,
  loadPage,
  loadQuery,
  providerPage,
  rollbackAnswer,
  rollbackQuery,
  sourceList,
  suggestionList,
  uploadAnswer,
  uploadQuery,
  verificationAnswer,
  verificationRequest,
  type DirectoryForm,
  type DirectoryLoad,
  type DirectoryRecord,
  type DirectorySource,
  type LoadEvent,
  type LoadReport,
  type Provider,
  type SuggestionList,
} from '../contract/index.ts';
import { ConsoleError } from '../errors.ts';
import { route } from '../route.ts';
import type { ConsoleApp, ConsoleRoutes, ConsoleServices } from '../types.ts';
import { originOf, type Acting } from './acting.ts';
import { cursorsOf, rowNumber } from './cursors.ts';
import { countOf, isoOrNull } from './formats.ts';
import type { Live } from './live.ts';

const byId = Type.Object({ id: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }) });

const uploadTypes = ['text/csv', 'application/zip', 'application/gzip', 'application/octet-stream'];
/** Minimum interval between progress events of a load; a new phase is always sent. */
const progressMs = 300;

const loadCursors = cursorsOf('loads', rowNumber);

/** Routes of the directory: search, records with the values of each source, sources, loads. */
export function directoryRoutes(services: ConsoleServices, acting: Acting, live: Live): ConsoleRoutes {
  return (app) => {
    addSearch(app, acting);
    addSources(app, services, acting);
    addUpload(app, acting, live);
  };
}

function addSearch(app: ConsoleApp, acting: Acting): void {
  route(app, 'get', '/directory/form', {
    needs: 'directory.read',
    about: ['directory', 'List the filters'],
    answer: directoryForm,
    handle: async () => form,
  });
  route(app, 'get', '/directory/search', {
    needs: 'directory.read',
    about: [
      'directory',
      'Search the directory',
      'Takes the parameters of the native search and `verification`. Counts against no quota.',
    ],
    answer: providerPage,
    refuses: [503],
    handle: async (request) => {
      const startedAtMs = performance.now();
      const found = await acting(request).directory.search(readParameters(request), originOf(request));
      const { records, totalCount, offset, limit, radius } = found;
      return {
        providers: records.map(toProvider),
        totalCount,
        offset,
        limit,
        center:
          radius === undefined
            ? null
            : { lat: radius.latitude, lng: radius.longitude, radiusMiles: radius.miles },
        tookMs: Math.round((performance.now() - startedAtMs) * 10) / 10,
      };
    },
  });
  route(app, 'get', '/directory/suggestions', {
    needs: 'directory.read',
    about: [
      'directory',
      'Suggest people and organizations',
      'Takes the parameters of the native suggestions. Counts against no quota.',
    ],
    answer: suggestionList,
    refuses: [503],
    handle: async (request) => {
      const startedAtMs = performance.now();
      const { directory } = acting(request);
      const found = await directory.suggest(readParameters(request), originOf(request));
      return { ...toSuggestions(found), tookMs: Math.round((performance.now() - startedAtMs) * 10) / 10 };
    },
  });
  route(app, 'get', '/directory/records/:id', {
    needs: 'directory.read',
    about: ['directory', 'Show a record', 'Each value with its source, and the values of each source.'],
    params: byId,
    answer: directoryRecord,
    handle: async (request) =>
      toRecord(await acting(request).directory.show(request.params.id, originOf(request))),
  });
}

function addSources(app: ConsoleApp, { storage, directory, nodes }: ConsoleServices, acting: Acting): void {
  route(app, 'get', '/directory/sources', {
    needs: 'directory.read',
    about: ['directory', 'List the sources', 'In order of precedence.'],
    answer: sourceList,
    handle: async () => {
      const [sources, status, { counts, isRunning, domains, checkedDomains, dueDomains }] = await Promise.all(
        [readSources(storage), directory.status(), readVerificationStatus(storage)],
      );
      const reported = new Map<number, DirectoryLoad>();
      for (const load of sources.flatMap(({ active, previous }) => [active, previous]))
        if (load !== undefined) reported.set(load.id, toLoad(load, nodes.id));
      const isVerified = Object.values(counts).some((count) => count > 0);
      return {
        result: sources.map(({ active, previous, ...source }) => ({
          name: source.name,
          exportRight: source.exportRight,
          active: (active && reported.get(active.id)) ?? null,
          previous: (previous && reported.get(previous.id)) ?? null,
          schedule: toSchedule(source.schedule),
        })),
        recordCount: status.served?.recordCount ?? 0,
        hostedCount: status.provisionedCount,
        verification: isVerified ? counts : null,
        verifying: { isRunning, domains, checkedDomains, dueDomains },
      };
    },
  });
  route(app, 'get', '/directory/loads', {
    needs: 'directory.read',
    about: ['directory', 'List loads with their quality reports', 'Newest first.'],
    query: loadQuery,
    answer: loadPage,
    handle: async (request) => {
      const { source, limit = 50, cursor } = request.query;
      const position = loadCursors.read(cursor);
      const before = position === undefined ? undefined : Number(position);
      const { loads, next } = await listLoads(storage, { sourceName: source, before, limit });
      return {
        result: loads.map((load) => toLoad(load, nodes.id)),
        next: loadCursors.write(next?.toString()),
      };
    },
  });
  route(app, 'post', '/directory/sources/:name/rollback', {
    needs: 'directory.change',
    about: ['directory', 'Roll a source back', 'To the generation before the active one.'],
    query: rollbackQuery,
    answer: rollbackAnswer,
    refuses: [409],
    handle: async (request) => {
      const { name } = request.params;
      const { recordCount } = await acting(request).directory.rollBack(name, request.query.activeId);
      return { recordCount, sentence: `${name} serves ${countOf(recordCount, 'record')} again.` };
    },
  });
  route(app, 'post', '/directory/verification', {
    needs: 'directory.change',
    about: [
      'directory',
      'Start or pause the verification of addresses',
      'On all nodes, within seconds; results stay.',
    ],
    body: verificationRequest,
    answer: verificationAnswer,
    handle: async (request) => {
      const { isRunning } = request.body;
      await setRunning({ storage, audit: acting(request).audit }, isRunning);
      return {
        sentence: `The verification is ${isRunning ? 'running' : 'paused'}; the nodes follow within seconds.`,
      };
    },
  });
}

function addUpload(app: ConsoleApp, acting: Acting, live: Live): void {
  app.addContentTypeParser(uploadTypes, (_request, payload, done) => done(null, payload));
  route(app, 'post', '/directory/loads', {
    needs: 'directory.change',
    about: [
      'directory',
      'Load a file',
      'The body is the file: CSV, gzip or zip. Answers as soon as the file has been received; the event load of /admin/v1/live reports progress.',
    ],
    query: uploadQuery,
    answer: uploadAnswer,
    status: 202,
    refuses: [413, 415, 429, 503],
    handle: async (request, reply) => {
      const {
        source = 'default',
        format = 'auto',
        kind = 'full',
        name = 'upload.csv',
        acceptLoss,
      } = request.query;
      const { headers } = request;
      if (!isUpload(headers['content-type']))
        throw new ConsoleError('CONSOLE_REQUEST_INVALID', 'the body is not a file', {
          problems: [
            { field: 'Content-Type', reason: 'invalid', detail: `One of ${uploadTypes.join(', ')}.` },
          ],
        });
      try {
        const upload = await acting(request).directory.upload(request.body as Readable, {
          name: toFileName(name),
          sourceName: source,
          kind,
          acceptLoss,
          ...(format !== 'auto' && { format }),
          sizeBytes: headers['content-length'] === undefined ? undefined : Number(headers['content-length']),
          onProgress: throttleProgress(live),
        });
        return await reply.code(202).send(upload);
      } catch (error) {
        // The rest of the body is not read.
        reply.header('Connection', 'close');
        throw error;
      }
    },
  });
}

function isUpload(contentType: string | undefined): boolean {
  return uploadTypes.includes(contentType?.split(';')[0]?.trim().toLowerCase() ?? '');
}

/** A file name to show, never a path. */
function toFileName(name: string): string {
  const bare = name.replace(/^.*[/\\]/, '').replaceAll(/[\p{Cc}\p{Cf}]/gu, '');
  return bare === '' ? 'upload' : bare;
}

function throttleProgress(live: Live): (progress: UploadProgress) => void {
  let phase = '';
  let sentAtMs = Number.NEGATIVE_INFINITY;
  return ({ totalBytes, bytesRead, isLoss = false, ...progress }) => {
    const nowMs = performance.now();
    if (progress.phase === phase && nowMs - sentAtMs < progressMs) return;
    phase = progress.phase;
    sentAtMs = nowMs;
    const event: LoadEvent = {
      ...progress,
      isLoss,
      bytesRead: Math.round(bytesRead),
      totalBytes: totalBytes === undefined ? null : Math.round(totalBytes),
    };
    live.sendLoad(event);
  };
}

const filters = directoryParameters.filter((one): one is FilterParameter => one.kind === 'filter');

const form: DirectoryForm = {
  filters: filters.map(({ name, description, matchText, example, form: shape }) => ({
    name,
    description,
    matchText,
    example,
    pattern: shape?.pattern.source ?? null,
  })),
  sortable: directoryParameters.filter(({ isSortable }) => isSortable).map(({ name }) => name),
  maxRadiusMiles,
  maxPageSize,
};

function toProvider({ state, ...record }: FoundRecord): Provider {
  const { otherNames, ...rest } = record;
  const values = { ...record.values, ...(otherNames !== undefined && { prov_other_names: otherNames }) };
  return { ...rest, values, verification: toVerification(state) };
}

function toSuggestions({
  suggestions,
  totalCount,
  misspelt,
  facets,
  nearlyMeant,
}: SuggestionAnswer): Omit<SuggestionList, 'tookMs'> {
  return {
    suggestions: suggestions.map(
      ({ kind, id, addresses, addressCount, matched, distance, lat: _lat, lng: _lng, ...values }) => ({
        kind,
        id,
        values,
        addresses: addresses.map((one) => ({
          id: one.id,
          directAddress: one.serv_direct_addr,
          place: [one.org_name, one.org_city, one.org_state].filter(Boolean).join(', '),
          state: one.verification?.state ?? null,
        })),
        addressCount,
        matched: matched.map(({ field, start, length }) => ({ field, start, length })),
        distance: distance ?? null,
      }),
    ),
    totalCount: Number(totalCount),
    misspelt,
    facets: {
      state: [...facets.state],
      specialty: [...facets.specialty],
      verified: [...facets.verified],
    },
    nearlyMeant: [...nearlyMeant],
  };
}

function toVerification(state: FoundRecord['state']): Provider['verification'] {
  if (state === undefined) return null;
  return { state: state.state, reason: state.reason, checkedAt: isoOrNull(state.checkedAt) };
}

function toRecord({
  id,
  isOpen,
  values,
  said,
  state,
}: Awaited<ReturnType<DirectoryOperator['show']>>): DirectoryRecord {
  return {
    id,
    directAddress: values.serv_direct_addr?.value ?? '',
    values: Object.entries(values).map(([name, { value, source }]) => ({ name, value, source })),
    said: said.map(({ source, exportRight, values: own }) => ({ source, exportRight, values: { ...own } })),
    isOpen,
    verification: toVerification(state),
  };
}

function toSchedule(
  schedule: Awaited<ReturnType<typeof readSources>>[number]['schedule'],
): DirectorySource['schedule'] {
  if (schedule === undefined) return null;
  const { path, everyMs, checkedAt = null, failure = '' } = schedule;
  return { path, everyMinutes: everyMs / 60_000, checkedAt, failure };
}

function toLoad(load: LoadSummary | ReportedLoad, ownNodeId: string | undefined): DirectoryLoad {
  const report = 'report' in load && load.report !== undefined ? toReport(load.report) : null;
  const { nodeId, progress, finishedAt = null, ...rest } = load;
  return {
    ...rest,
    finishedAt,
    progress:
      progress === undefined
        ? null
        : {
            ...progress,
            phase: progress.phase as NonNullable<DirectoryLoad['progress']>['phase'],
            totalBytes: progress.totalBytes ?? null,
          },
    node: nodeId === undefined ? null : { id: nodeId, isThis: nodeId === ownNodeId },
    report,
  };
}

function toReport({
  format: _format,
  kind: _kind,
  source: _source,
  sourceName: _sourceName,
  refused,
  warnings,
  release: _release,
  failure = '',
  ...counts
}: NonNullable<ReportedLoad['report']>): LoadReport {
  const findings = listFindings({ refused, warnings }).map(({ lines, ...finding }) => ({
    ...finding,
    lines: [...lines],
  }));
  return { ...counts, findings, failure };
}
