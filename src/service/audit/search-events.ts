import { setImmediate as nextTurn } from 'node:timers/promises';
import { groupOf, type AuditGroup } from './actions.ts';
import type { Audit } from './create-audit.ts';
import type { AuditFilter, AuditRecord } from './find-events.ts';

/** Search conditions; all given ones must match. */
export interface AuditSearch extends Pick<
  AuditFilter,
  'action' | 'actor' | 'outcome' | 'isChange' | 'requestId' | 'since' | 'until'
> {
  /**
   * Texts that one of the objects of a row must be, or hold among others; any of them will do. Compared
   * without case.
   */
  readonly objects?: readonly string[] | undefined;
  readonly group?: AuditGroup | undefined;
  /** What the reader sees of a row, which is all that is searched; undefined for a row of others. */
  readonly view?: ((row: AuditRecord) => AuditRecord | undefined) | undefined;
  readonly limit: number;
  /** Rows before this number. */
  readonly before?: number | undefined;
}

export interface AuditSearchPage {
  readonly items: readonly AuditRecord[];
  /** Hand it in as `before`; absent on the last page. */
  readonly next?: number;
}

const block = 500;
/** Rows read for one page, about a second of work: a search for rarer events continues on the next page. */
const maxRows = 200_000;

/** Newest first. A page may be short, or empty, and still have a next one, if the trail is long. */
export async function searchEvents(
  audit: Pick<Audit, 'find'>,
  { objects, actor, group, view, limit, before, ...rest }: AuditSearch,
): Promise<AuditSearchPage> {
  const wanted = objects?.map((text) => text.toLowerCase());
  // Only operators' rows have an index by actor; others are read and picked, so that no question reads the
  // whole trail.
  const isIndexed = view === undefined && (actor === undefined || actor.startsWith('operator:'));
  // Changes are few and found by their actions; rows of other groups are most rows, and picked.
  const isChange = group === 'changes' ? true : rest.isChange;
  const filter = { ...rest, isChange, ...(isIndexed && { actor }) };
  const isPicked = wanted !== undefined || !isIndexed || (group !== undefined && group !== 'changes');
  const size = isPicked ? block : limit + 1;
  const found: AuditRecord[] = [];
  let end = before;
  for (let read = 0; read < maxRows;) {
    const rows = await audit.find({
      ...filter,
      before: end,
      limit: size,
    });
    read += rows.length;
    const shown = view === undefined ? rows : rows.flatMap((row) => view(row) ?? []);
    found.push(
      ...shown.filter(
        (row) =>
          (isIndexed || actor === undefined || row.actor === actor) &&
          (rest.requestId === undefined || row.requestId === rest.requestId) &&
          (group === undefined || groupOf(row.action) === group) &&
          (wanted === undefined || holdsAny(row, wanted)),
      ),
    );
    const last = rows.at(-1);
    if (last === undefined || rows.length < size || found.length > limit) return toPage(found, limit);
    end = last.sequence;
    // SQLite answers without one.
    await nextTurn();
  }
  const page = toPage(found, limit);
  return page.next !== undefined || end === undefined ? page : { ...page, next: end };
}

function toPage(rows: readonly AuditRecord[], limit: number): AuditSearchPage {
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, ...(last !== undefined && { next: last.sequence }) };
}

function holdsAny({ objects }: AuditRecord, wanted: readonly string[]): boolean {
  return Object.values(objects).some((value) => {
    const text = String(value).toLowerCase();
    return wanted.some((one) => text === one || text.split(/[\s,]+/).includes(one));
  });
}
