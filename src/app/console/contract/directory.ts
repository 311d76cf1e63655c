import { Type, type Static } from 'typebox';
import { nullable, oneOf, pageOf, paging, time, named, queryOf, bodyOf } from './common.ts';

/** A provider record with the field names of the native API; each value is a string that may be empty. */
export const provider = named('Provider', {
  id: Type.Integer(),
  /** `prov_npi`, `serv_direct_addr`, `org_name`, … see `directoryForm`. */
  values: Type.Record(Type.String(), Type.String()),
  lat: nullable(Type.Number()),
  lng: nullable(Type.Number()),
  /** Miles from the center; null without a radius. */
  distance: nullable(Type.Number()),
  verification: nullable(
    Type.Object({
      state: oneOf(['trusted', 'discoverable', 'expired', 'no-certificate', 'unreachable', 'unverified']),
      reason: Type.String(),
      checkedAt: nullable(time),
    }),
  ),
});
export type Provider = Static<typeof provider>;

/**
 * `GET /admin/v1/directory/search`: takes every parameter of the native search (filters, `sort_by`,
 * `sort_order`, `offset`, `limit`, `radius`, `verification`), validated by the same table. Counts against no
 * quota.
 */
export const providerPage = named('ProviderPage', {
  providers: Type.Array(provider),
  totalCount: Type.Integer(),
  offset: Type.Integer(),
  limit: Type.Integer(),
  /** For the circle on the map; null without a radius. */
  center: nullable(Type.Object({ lat: Type.Number(), lng: Type.Number(), radiusMiles: Type.Number() })),
  tookMs: Type.Number(),
});
export type ProviderPage = Static<typeof providerPage>;

const facet = Type.Array(Type.Object({ value: Type.String(), label: Type.String(), count: Type.Integer() }));

/**
 * `GET /admin/v1/directory/suggestions`: takes every parameter of the native suggestions. Counts against no
 * quota.
 */
export const suggestionList = named('SuggestionList', {
  suggestions: Type.Array(
    Type.Object({
      kind: oneOf(['person', 'organization']),
      id: Type.Integer(),
      /** `prov_npi`, `serv_direct_addr`, `org_name`, … */
      values: Type.Record(Type.String(), Type.String()),
      addresses: Type.Array(
        Type.Object({
          id: Type.Integer(),
          directAddress: Type.String(),
          place: Type.String(),
          state: nullable(
            oneOf(['trusted', 'discoverable', 'expired', 'no-certificate', 'unreachable', 'unverified']),
          ),
        }),
      ),
      addressCount: Type.Integer(),
      matched: Type.Array(
        Type.Object({ field: Type.String(), start: Type.Integer(), length: Type.Integer() }),
      ),
      distance: nullable(Type.Number()),
    }),
  ),
  totalCount: Type.Integer(),
  misspelt: Type.Boolean(),
  facets: Type.Object({ state: facet, specialty: facet, verified: facet }),
  nearlyMeant: Type.Array(Type.String()),
  tookMs: Type.Number(),
});
export type SuggestionList = Static<typeof suggestionList>;

/** `GET /admin/v1/directory/form`: the fields of the search, from the table that also validates them. */
export const directoryForm = named('DirectoryForm', {
  filters: Type.Array(
    Type.Object({
      name: Type.String(),
      description: Type.String(),
      matchText: Type.String(),
      example: Type.String(),
      pattern: nullable(Type.String()),
    }),
  ),
  sortable: Type.Array(Type.String()),
  maxRadiusMiles: Type.Integer(),
  maxPageSize: Type.Integer(),
});
export type DirectoryForm = Static<typeof directoryForm>;

/** `GET /admin/v1/directory/records/:id` */
export const directoryRecord = named('DirectoryRecord', {
  id: Type.Integer(),
  directAddress: Type.String(),
  /** The served values, each with its source. */
  values: Type.Array(Type.Object({ name: Type.String(), value: Type.String(), source: Type.String() })),
  /** The values of each source, in order of precedence. */
  said: Type.Array(
    Type.Object({
      source: Type.String(),
      exportRight: oneOf(['open', 'closed']),
      values: Type.Record(Type.String(), Type.String()),
    }),
  ),
  isOpen: Type.Boolean(),
  verification: provider.properties.verification,
});
export type DirectoryRecord = Static<typeof directoryRecord>;

export const loadReport = named('LoadReport', {
  rowsRead: Type.Integer(),
  loaded: Type.Integer(),
  added: Type.Integer(),
  changed: Type.Integer(),
  unchanged: Type.Integer(),
  removed: Type.Integer(),
  skipped: Type.Integer(),
  refusedRows: Type.Integer(),
  recordCount: Type.Integer(),
  seconds: Type.Number(),
  /** Line numbers only; no row is shown. */
  findings: Type.Array(
    Type.Object({
      kind: oneOf(['refused', 'warning']),
      reason: Type.String(),
      text: Type.String(),
      count: Type.Integer(),
      lines: Type.Array(Type.Integer()),
    }),
  ),
  failure: Type.String({ description: 'The reason if it was abandoned; otherwise empty.' }),
});
export type LoadReport = Static<typeof loadReport>;

export const loadPhase = oneOf(['reading', 'merging', 'indexing', 'activating']);

export const directoryLoad = named('DirectoryLoad', {
  id: Type.Integer(),
  kind: oneOf(['full', 'incremental', 'merged']),
  format: Type.String(),
  /** The name of the file. */
  source: Type.String(),
  /** Empty for a merge. */
  sourceName: Type.String(),
  state: oneOf(['loading', 'merging', 'ready', 'failed', 'retired']),
  recordCount: Type.Integer(),
  startedAt: time,
  finishedAt: nullable(time),
  startedBy: Type.String({
    description: 'The actor of its audit row, for example operator:alice or system; empty if unknown.',
  }),
  /** How far a running load is, on whichever node it runs. */
  progress: nullable(
    Type.Object({
      phase: loadPhase,
      rowsRead: Type.Integer(),
      bytesRead: Type.Integer(),
      totalBytes: nullable(Type.Integer()),
    }),
  ),
  /** The node that does the work; null for a command. */
  node: nullable(Type.Object({ id: Type.String(), isThis: Type.Boolean() })),
  report: nullable(loadReport),
});
export type DirectoryLoad = Static<typeof directoryLoad>;

/** `GET /admin/v1/directory/loads`: newest first. */
export const loadQuery = queryOf({ source: Type.Optional(Type.String({ maxLength: 32 })), ...paging });
export const loadPage = pageOf(directoryLoad, 'LoadPage');
export type LoadPage = Static<typeof loadPage>;

export const directorySource = named('DirectorySource', {
  name: Type.String(),
  exportRight: oneOf(['open', 'closed']),
  active: nullable(directoryLoad),
  /** The generation that a rollback activates; null if there is none. */
  previous: nullable(directoryLoad),
  schedule: nullable(
    Type.Object({
      path: Type.String(),
      everyMinutes: Type.Number(),
      checkedAt: nullable(time),
      failure: Type.String(),
    }),
  ),
});
export type DirectorySource = Static<typeof directorySource>;

/** `GET /admin/v1/directory/sources`: in order of precedence. */
export const sourceList = named('SourceList', {
  result: Type.Array(directorySource),
  recordCount: Type.Integer({ description: 'Records that are served.' }),
  hostedCount: Type.Integer({ description: 'Hosted addresses that the operator has listed.' }),
  /** Addresses of the directory by verification state; null before the first check. */
  verification: nullable(Type.Record(Type.String(), Type.Integer())),
  verifying: Type.Object({
    isRunning: Type.Boolean(),
    domains: Type.Integer({ description: 'Domains of the addresses.' }),
    checkedDomains: Type.Integer({ description: 'Domains whose addresses were all checked once.' }),
    dueDomains: Type.Integer({ description: 'Domains that are due now.' }),
  }),
});
export type SourceList = Static<typeof sourceList>;

/** `POST /admin/v1/directory/verification`: starts or pauses it on all nodes. */
export const verificationRequest = bodyOf('VerificationRequest', { isRunning: Type.Boolean() });
export type VerificationRequest = Static<typeof verificationRequest>;
export const verificationAnswer = named('VerificationAnswer', { sentence: Type.String() });
export type VerificationAnswer = Static<typeof verificationAnswer>;

/**
 * `POST /admin/v1/directory/loads?source=&format=&kind=&name=` with the file as body (`text/csv` or
 * `application/zip`). Answers 202 as soon as the file has been received; the event `load` of `/admin/v1/live`
 * reports progress, and the list of loads has the report.
 */
export const uploadQuery = queryOf({
  source: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
  format: Type.Optional(oneOf(['auto', 'own', 'directtrust', 'nppes'])),
  kind: Type.Optional(oneOf(['full', 'incremental'])),
  name: Type.Optional(Type.String({ maxLength: 200, description: 'The name of the file.' })),
  acceptLoss: Type.Optional(
    Type.Boolean({
      description:
        'Loads a file that was refused because many of its rows are refused or many records would go. See the report of that load first.',
    }),
  ),
});

export const uploadAnswer = named('UploadAnswer', { uploadId: Type.String(), bytes: Type.Integer() });
export type UploadAnswer = Static<typeof uploadAnswer>;

/** `POST /admin/v1/directory/sources/:name/rollback?activeId=` */
export const rollbackQuery = queryOf({
  activeId: Type.Optional(
    Type.Integer({
      description: 'The load that is active as far as the caller knows: refused if another one is by now.',
    }),
  ),
});
export const rollbackAnswer = named('RollbackAnswer', {
  sentence: Type.String(),
  recordCount: Type.Integer(),
});
export type RollbackAnswer = Static<typeof rollbackAnswer>;
