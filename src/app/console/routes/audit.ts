import { Readable } from 'node:stream';
import { CodedError } from '../../../core/index.ts';
import {
  auditCsvHeader,
  createRecentViews,
  searchEvents,
  toAuditCsv,
  type Audit,
  type AuditRecord,
  type AuditSearch,
} from '../../../service/audit/index.ts';
import {
  auditExportQuery,
  auditPage,
  auditQuery,
  auditVerification,
  type AuditQuery,
  type AuditVerification,
} from '../contract/index.ts';
import { ConsoleError } from '../errors.ts';
import { route, streamOf } from '../route.ts';
import type { Owned } from '../../../service/organizations/index.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { isRefresh, type Acting } from './acting.ts';
import { cursorsOf, rowNumber, sealCursors, type Cursors } from './cursors.ts';
import { countOf, readTime, toAuditEntry } from './formats.ts';
import { createEventView } from './owned-events.ts';

const plainCursors = cursorsOf('audit', rowNumber);

/** Routes of the audit trail: search, verify, export. */
export function auditRoutes(
  { audit, storage, clock, vault, operators }: ConsoleServices,
  acting: Acting,
): ConsoleRoutes {
  const views = createRecentViews();
  const cursorsFor = ({ organizationId }: Owned): Cursors =>
    organizationId === undefined ? plainCursors : sealCursors(plainCursors, vault, organizationId);
  const openView = async (owned: Owned): Promise<AuditSearch['view']> => {
    if (owned.organizationId === undefined) return undefined;
    const all = await operators.store.list();
    const own = all.filter(({ organizationId }) => organizationId === owned.organizationId);
    return createEventView(owned, new Set(own.map(({ name }) => name)));
  };
  return (app) => {
    route(app, 'get', '/audit', {
      needs: 'audit.read',
      scope: 'filtered',
      about: [
        'audit',
        'Search the audit trail',
        'Newest first. A page may be short and still have a next one.',
      ],
      query: auditQuery,
      answer: auditPage,
      handle: async (request) => {
        const cursors = cursorsFor(request.owned);
        const view = await openView(request.owned);
        const page = await searchEvents(audit, { ...toSearch(request.query, cursors), view });
        const asked = JSON.stringify([request.operator.actor, request.query]);
        if (views.note(asked, isRefresh(request)))
          await acting(request).audit.recordNow({
            action: 'audit.list',
            actor: 'operator',
            outcome: 'ok',
            objects: { ...conditionsOf(request.query), count: page.items.length },
          });
        return {
          result: page.items.map(toAuditEntry),
          next: cursors.write(page.next?.toString()),
        };
      },
    });
    route(app, 'post', '/audit/verify', {
      needs: 'audit.read',
      about: ['audit', 'Verify the whole audit trail', 'One verification at a time.'],
      answer: auditVerification,
      refuses: [429],
      handle: async (request) => {
        const done = await storage.tryRunExclusive('audit-verify', () => verify(audit, clock));
        if (done === undefined)
          throw new ConsoleError('CONSOLE_BUSY', 'another verification of the audit trail is in progress');
        await acting(request).audit.recordNow({
          action: 'audit.verify',
          actor: 'operator',
          outcome: done.result.isIntact ? 'ok' : 'failed',
          objects: { events: done.result.events },
        });
        return done.result;
      },
    });
    route(app, 'get', '/audit/export', {
      needs: 'audit.export',
      scope: 'filtered',
      about: ['audit', 'Export the audit trail', 'NDJSON or CSV, newest first: all pages of the search.'],
      query: auditExportQuery,
      answer: streamOf('application/x-ndjson'),
      handle: async (request, reply) => {
        await acting(request).audit.recordNow({
          action: 'audit.export',
          actor: 'operator',
          outcome: 'ok',
          objects: conditionsOf(request.query),
        });
        const { format = 'ndjson', ...query } = request.query;
        const search = toSearch({ ...query, limit: 500 }, cursorsFor(request.owned));
        const view = await openView(request.owned);
        const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson';
        return reply
          .type(`${type}; charset=utf-8`)
          .header('Content-Disposition', `attachment; filename="audit.${format}"`)
          .send(Readable.from(writeAll(audit, { ...search, view }, format)));
      },
    });
  };
}

const conditionsOf = ({ cursor: _cursor, limit: _limit, ...query }: AuditQuery & { format?: string }) =>
  query;

async function* writeAll(
  audit: Pick<Audit, 'find'>,
  search: AuditSearch,
  format: 'ndjson' | 'csv',
): AsyncIterable<string> {
  if (format === 'csv') yield `${auditCsvHeader}\r\n`;
  for (let before = search.before; ;) {
    const page = await searchEvents(audit, { ...search, before });
    const lines = page.items.map((row: AuditRecord) =>
      format === 'csv' ? `${toAuditCsv(row)}\r\n` : `${JSON.stringify(toAuditEntry(row))}\n`,
    );
    if (lines.length > 0) yield lines.join('');
    if (page.next === undefined) return;
    before = page.next;
  }
}

/** Throws CONSOLE_REQUEST_INVALID. */
function toSearch(
  { message, address, from, to, limit = 50, cursor, ...query }: AuditQuery,
  cursors: Cursors,
): AuditSearch {
  const position = cursors.read(cursor);
  const bare = message?.replace(/^urn:uuid:/i, '');
  const objects = [
    ...(message === undefined ? [] : [message, `urn:uuid:${bare}`, `<${bare}>`, bare ?? '']),
    ...(address === undefined ? [] : [address]),
  ];
  return {
    ...query,
    limit,
    since: readTime('from', from),
    until: readTime('to', to),
    ...(objects.length > 0 && { objects }),
    before: position === undefined ? undefined : Number(position),
  };
}

async function verify(audit: Audit, clock: ConsoleServices['clock']): Promise<AuditVerification> {
  const began = clock.now().getTime();
  const seconds = (): number => Math.max(0, clock.now().getTime() - began) / 1000;
  try {
    const {
      eventCount,
      firstSequence = null,
      lastSequence = null,
      checkpointCount,
    } = await audit.verifyChain();
    return {
      isIntact: true,
      sentence: `Intact: ${countOf(eventCount, 'event')}, compared with ${countOf(checkpointCount, 'checkpoint')}.`,
      events: eventCount,
      firstSequence,
      lastSequence,
      brokenAt: null,
      seconds: seconds(),
    };
  } catch (error) {
    if (!(error instanceof CodedError) || error.kind === 'unavailable') throw error;
    const sequence = error.fields['sequence'];
    return {
      isIntact: false,
      sentence: `Broken: ${error.message}.`,
      events: 0,
      firstSequence: null,
      lastSequence: null,
      brokenAt: typeof sequence === 'number' ? sequence : null,
      seconds: seconds(),
    };
  }
}
