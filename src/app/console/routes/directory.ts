import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Type } from 'typebox';
import { errorText } from '../../../core/index.ts';
import {
  directoryParameters,
  maxPageSize,
  maxRadiusMiles,
  openInput,
  readReport,
  refusalReasons,
  showRecords,
  warningReasons,
  type DirectoryCaller,
  type LoadReport as FoundReport,
  type LoadSummary,
} from '../../../service/directory/index.ts';
import {
  directoryForm,
  directoryRecord,
  loadPage,
  loadQuery,
  providerPage,
  rollbackAnswer,
  sourceList,
  uploadAnswer,
  uploadQuery,
  type DirectoryLoad,
  type LoadEvent,
  type LoadReport,
  type Provider,
} from '../contract/index.ts';
import { ConsoleError } from '../errors.ts';
import { apiPrefix } from '../guard.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { createActing } from './acting.ts';
import { describe, refusals } from './describe.ts';
import { countOf } from './formats.ts';

/** A year's release of NPPES, compressed, is about 1 GB. */
const maxUploadBytes = 8_000_000_000;
const uploadTypes = ['text/csv', 'application/zip', 'application/gzip', 'application/octet-stream'];
/** An operator's searches are held by nothing: they count against no client's limits. */
const boundless = Number.MAX_SAFE_INTEGER;
const listedLoads = 10;

type Services = Pick<ConsoleServices, 'config' | 'directory' | 'storage' | 'log'>;

interface NativeAnswer {
  readonly providers: readonly (Readonly<Record<string, unknown>> & { readonly id: number })[];
  readonly totalCount: string;
}

/** The directory: its search, one record, its sources and their loads. */
export function directoryRoutes(
  { config, directory, storage, log }: Services,
  acting: ReturnType<typeof createActing>,
  tellLoad: (event: LoadEvent) => void,
): ConsoleRoutes {
  const folder = path.join(config.dataDir, 'uploads');

  async function search(sent: readonly (readonly [string, string])[], caller: DirectoryCaller) {
    const wantsStates = directory.hasStates && !sent.some(([name]) => name === 'verification');
    const parameters = wantsStates ? [...sent, ['verification', 'show'] as const] : sent;
    const startedAt = performance.now();
    const { json } = await directory.search(parameters, caller);
    const tookMs = Math.round((performance.now() - startedAt) * 10) / 10;
    const answer = JSON.parse(Buffer.from(json).toString()) as NativeAnswer;
    const circle = directory.findCircle(sent);
    const numberOf = (name: string, usual: number): number =>
      Number(sent.find(([one]) => one === name)?.[1] || usual);
    return {
      providers: answer.providers.map(toProvider),
      totalCount: Number(answer.totalCount),
      offset: numberOf('offset', 0),
      limit: Math.min(numberOf('limit', maxPageSize), maxPageSize),
      center:
        circle === undefined
          ? null
          : { lat: circle.latitude, lng: circle.longitude, radiusMiles: circle.miles },
      tookMs,
    };
  }

  async function load(
    file: string,
    request: { readonly kind: 'full' | 'incremental'; readonly source?: string; readonly name: string },
    uploadId: string,
    audit: ReturnType<typeof acting>['audit'],
  ): Promise<void> {
    let last = { rowsRead: 0, bytesRead: 0, totalBytes: null as number | null };
    const tell = (phase: LoadEvent['phase'], text = ''): void => tellLoad({ uploadId, phase, ...last, text });
    try {
      const opened = await openInput(file);
      const [only] = opened;
      // The stored file has another name than the one that the operator knows.
      const files =
        opened.length === 1 && only !== undefined && only.name === path.basename(file)
          ? [{ ...only, name: request.name }]
          : opened;
      const report = await directory.importFiles(
        {
          files,
          kind: request.kind,
          sourceName: request.source,
          onProgress: ({ phase, rowsRead, bytesRead, totalBytes }) => {
            last = { rowsRead, bytesRead, totalBytes: totalBytes ?? null };
            if (phase !== 'done') tell(phase === 'downloading' ? 'reading' : phase);
          },
        },
        audit,
      );
      tell('done', `${countOf(report.recordCount, 'record')} in the source.`);
    } catch (error) {
      log.warn({ uploadId, problem: errorText(error) }, 'an uploaded directory file was not loaded');
      tell('failed', errorText(error));
    } finally {
      await rm(file, { force: true });
    }
  }

  return (app) => {
    app.addContentTypeParser(uploadTypes, (_request, payload, done) => done(null, payload));

    app.get(
      `${apiPrefix}/directory/form`,
      {
        config: { permission: 'directory.read' },
        schema: {
          ...describe('directory', 'List the fields of the search'),
          response: { 200: directoryForm, ...refusals() },
        },
      },
      async () => ({
        filters: directoryParameters.flatMap((parameter) =>
          parameter.kind === 'filter'
            ? [
                {
                  name: parameter.name,
                  description: parameter.description,
                  matchText: parameter.matchText,
                  example: parameter.example,
                  pattern: 'form' in parameter && parameter.form ? parameter.form.pattern.source : null,
                },
              ]
            : [],
        ),
        sortable: directoryParameters.filter(({ isSortable }) => isSortable).map(({ name }) => name),
        maxRadiusMiles,
        maxPageSize,
      }),
    );

    app.get(
      `${apiPrefix}/directory/search`,
      {
        config: { permission: 'directory.read' },
        schema: {
          ...describe(
            'directory',
            'Search the directory',
            'Every parameter of the native search, judged by the same table. Counts against no quota.',
          ),
          response: { 200: providerPage, ...refusals(400) },
        },
      },
      async (request) => {
        const { search: text } = new URL(request.url, 'http://console');
        return search([...new URLSearchParams(text)], {
          client: {
            clientId: request.operator.actor,
            limits: {
              directoryRequestsPerSecond: boundless,
              directoryRequestsBurst: boundless,
              directoryRecordsPerDay: boundless,
            },
            dataUseAcceptedAt: new Date(0),
          },
          requestId: request.id,
          remoteAddress: request.ip,
        });
      },
    );

    app.get(
      `${apiPrefix}/directory/records/:id`,
      {
        config: { permission: 'directory.read' },
        schema: {
          ...describe('directory', 'Show a record', 'What is served, and what each source says.'),
          params: Type.Object({ id: Type.Integer({ minimum: 0 }) }),
          response: { 200: directoryRecord, ...refusals(404) },
        },
      },
      async (request) => {
        const [record] = await showRecords(storage, { id: request.params.id });
        if (record === undefined) throw new ConsoleError('CONSOLE_NOT_FOUND', 'no record has that id');
        const { audit } = acting(request);
        await audit.record({
          action: 'directory.show',
          actor: request.operator.actor,
          outcome: 'ok',
          objects: { recordId: record.id },
          requestId: request.id,
          remoteAddress: request.ip,
        });
        return {
          id: record.id,
          directAddress: record.values.serv_direct_addr?.value ?? '',
          values: Object.entries(record.values).map(([name, { value, source }]) => ({ name, value, source })),
          said: record.said.map(({ source, exportRight, values }) => ({
            source,
            exportRight,
            values: { ...values },
          })),
          isOpen: record.isOpen,
          verification: null,
        };
      },
    );

    app.get(
      `${apiPrefix}/directory/sources`,
      {
        config: { permission: 'directory.read' },
        schema: {
          ...describe('directory', 'List sources in order of precedence'),
          response: { 200: sourceList, ...refusals() },
        },
      },
      async () => {
        const { sources, served, provisionedCount } = await directory.status();
        return {
          result: await Promise.all(
            sources.map(async ({ name, exportRight, active, previous, schedule }) => ({
              name,
              exportRight,
              active: active === undefined ? null : toLoad(active, null),
              previous: previous === undefined ? null : toLoad(previous, null),
              schedule:
                schedule === undefined
                  ? null
                  : {
                      path: schedule.path,
                      everyMinutes: schedule.everyMs / 60_000,
                      checkedAt: schedule.checkedAt ?? null,
                      failure: schedule.failure ?? '',
                    },
            })),
          ),
          recordCount: served?.recordCount ?? 0,
          hostedCount: provisionedCount,
          verification: null,
        };
      },
    );

    app.get(
      `${apiPrefix}/directory/loads`,
      {
        config: { permission: 'directory.read' },
        schema: {
          ...describe(
            'directory',
            'List the newest loads',
            `With their quality reports; the last ${listedLoads}.`,
          ),
          querystring: loadQuery,
          response: { 200: loadPage, ...refusals(400) },
        },
      },
      async ({ query: { source, limit = listedLoads } }) => {
        const { loads } = await directory.status();
        const wanted = loads.filter(({ sourceName }) => source === undefined || sourceName === source);
        const result = await Promise.all(
          wanted.slice(0, limit).map(async (one) => toLoad(one, await findReport(one.id))),
        );
        return { result, next: null };
      },
    );

    app.post(
      `${apiPrefix}/directory/loads`,
      {
        config: { permission: 'directory.change' },
        bodyLimit: maxUploadBytes,
        schema: {
          ...describe(
            'directory',
            'Load a file',
            'Answers as soon as the file is here; the event `load` of the live events tells the rest.',
          ),
          querystring: uploadQuery,
          response: { 202: uploadAnswer, ...refusals(400) },
        },
      },
      async (request, reply) => {
        const { source, kind = 'full', name = 'upload.csv' } = request.query;
        if (!(request.body instanceof Readable))
          throw new ConsoleError('CONSOLE_REQUEST_INVALID', 'an upload without a file', {
            problems: [{ field: 'body', reason: 'required', detail: 'The file is missing.' }],
          });
        const uploadId = randomUUID();
        const file = path.join(folder, uploadId);
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const target = createWriteStream(file, { mode: 0o600, flags: 'wx' });
        try {
          await pipeline(request.body, target);
        } catch (error) {
          await rm(file, { force: true });
          throw error;
        }
        const { audit } = acting(request);
        void load(file, { kind, name: path.basename(name), ...(source && { source }) }, uploadId, audit);
        return reply.code(202).send({ uploadId, bytes: target.bytesWritten });
      },
    );

    app.post(
      `${apiPrefix}/directory/sources/:name/rollback`,
      {
        config: { permission: 'directory.change' },
        schema: {
          ...describe('directory', 'Go back to the generation before'),
          params: Type.Object({ name: Type.String({ maxLength: 32 }) }),
          response: { 200: rollbackAnswer, ...refusals(404, 409) },
        },
      },
      async (request) => {
        const { name } = request.params;
        const { recordCount } = await directory.rollBack(name, acting(request).audit);
        return { recordCount, sentence: `${name} serves ${countOf(recordCount, 'record')} again.` };
      },
    );
  };

  async function findReport(loadId: number): Promise<LoadReport | null> {
    try {
      return toReport(await readReport(storage, loadId));
    } catch {
      // A merge, or a load that still runs, has none.
      return null;
    }
  }
}

function toProvider({ id, lat, lng, distance, verification, ...values }: NativeAnswer['providers'][number]) {
  const known = verification as { state: string; reason: string; checkedTime: string | null } | undefined;
  return {
    id,
    values: values as Record<string, string>,
    lat: typeof lat === 'number' ? lat : null,
    lng: typeof lng === 'number' ? lng : null,
    distance: typeof distance === 'number' ? distance : null,
    verification:
      known === undefined
        ? null
        : {
            state: known.state as NonNullable<Provider['verification']>['state'],
            reason: known.reason,
            checkedAt: known.checkedTime,
          },
  };
}

function toLoad(load: LoadSummary, report: LoadReport | null): DirectoryLoad {
  return { ...load, finishedAt: load.finishedAt ?? null, report } as DirectoryLoad;
}

function toReport(report: FoundReport): LoadReport {
  const findings = (['refused', 'warnings'] as const).flatMap((kind) =>
    Object.entries(report[kind]).map(([reason, { count, lines }]) => ({
      kind: kind === 'refused' ? ('refused' as const) : ('warning' as const),
      reason,
      text: ({ ...refusalReasons, ...warningReasons } as Readonly<Record<string, string>>)[reason] ?? reason,
      count,
      lines: [...lines],
    })),
  );
  const { rowsRead, loaded, added, changed, unchanged, removed, skipped, refusedRows, recordCount, seconds } =
    report;
  return {
    rowsRead,
    loaded,
    added,
    changed,
    unchanged,
    removed,
    skipped,
    refusedRows,
    recordCount,
    seconds,
    findings,
    failure: report.failure ?? '',
  };
}
