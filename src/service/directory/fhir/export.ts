import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { PassThrough, type Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorCode, type Log } from '../../../core/index.ts';
import { hashOfEntity, type EntityKind, type EntitySeed } from '../../../lib/provider-index/index.ts';
import type { ProviderRecord } from '../../../lib/provider-record/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { DirectoryError } from '../errors.ts';
import { KeyTable } from '../records/key-table.ts';
import { readOpenRecords } from '../sources/open-records.ts';
import { claimSources, type ClaimedSources } from '../store/claim-generation.ts';
import { isOpen, listSources } from '../store/sources.ts';
import { loadState } from '../store/state.ts';
import type { DirectoryTables, SourceRow } from '../store/tables.ts';
import type { Resource, ResourceMaker } from './make-resources.ts';
import { hasOwnNpi, keyOf } from './own-npis.ts';
import type { ResourceType } from './vocabulary.ts';

/** Exports that this node writes at once; each reads all stored records once. */
const maxExports = 2;
const busyRetrySeconds = 60;

/** Ends the reading of records for which nobody waits any more. */
const clientGone = new Error('the client has gone');

export interface OpenExport {
  /** A tag of the open sources' current records: changes with each load of one. */
  tag(): Promise<OpenState>;
  /**
   * NDJSON of one kind of resource, from records of open sources alone. Throws DIRECTORY_EXPORT_CHANGED if
   * they are others than those of the tag, DIRECTORY_EXPORT_BUSY if too many are being written. With `since`
   * only resources that changed from that second on.
   */
  write(type: ResourceType, tag: string, since?: number): Promise<Readable>;
}

export interface OpenState {
  readonly tag: string;
  /** No change that this state does not have will bear this second or an earlier one: seconds since 1970. */
  readonly changedAt: number;
}

export interface OpenExportOptions {
  readonly storage: Storage;
  /** This node: while it writes an export, no node deletes the generation that it reads. */
  readonly nodeId: string | undefined;
  readonly seed: EntitySeed;
  readonly make: ResourceMaker;
  readonly log: Log;
}

export function createOpenExport({ storage, nodeId, seed, make, log }: OpenExportOptions): OpenExport {
  let running = 0;

  async function tag(): Promise<OpenState> {
    const db = storage.tables<DirectoryTables>();
    const state = await loadState(storage);
    return { tag: tagOf(await listSources(db)), changedAt: state.last_change_at };
  }

  async function copy(
    type: ResourceType,
    claimed: ClaimedSources,
    target: PassThrough,
    since: number,
  ): Promise<void> {
    const earliest = claimed.state.earliest_open_change_at;
    const writer = createExportWriter(type, make, seed, {
      timeOf: ({ changedAt = 0 }) => Math.max(changedAt, earliest),
      since,
    });
    const send = async (resources: readonly Resource[]): Promise<void> => {
      if (target.destroyed) throw clientGone;
      if (resources.length === 0) return;
      const text = resources.map(({ json }) => `${json}\n`).join('');
      // `close` comes if the client goes.
      if (!target.write(text)) await Promise.race([once(target, 'drain'), once(target, 'close')]);
    };
    if (writer.note !== undefined) {
      const { note } = writer;
      await readOpenRecords(storage, claimed, async (records) => {
        if (target.destroyed) throw clientGone;
        for (const record of records) note(record);
      });
    }
    await readOpenRecords(storage, claimed, (records) =>
      send(records.flatMap((record) => writer.add(record))),
    );
    for (const portion of portionsOf(writer.finish())) {
      await send(portion);
      await nextTurn();
    }
  }

  return {
    tag,
    async write(type, wanted, since = 0) {
      if (running >= maxExports)
        throw new DirectoryError('DIRECTORY_EXPORT_BUSY', 'Too many exports', {
          retryAfterSeconds: busyRetrySeconds,
        });
      running++;
      const claimed = await claimSources(storage, nodeId).catch((error: unknown) => {
        running--;
        throw error;
      });
      const end = async (): Promise<void> => {
        running--;
        await claimed.release();
      };
      if (tagOf(claimed.sources.map(({ source }) => source)) !== wanted) {
        await end();
        throw new DirectoryError(
          'DIRECTORY_EXPORT_CHANGED',
          'The open sources have changed since the export began',
        );
      }
      const target = new PassThrough({ highWaterMark: 1 << 20 });
      // An error while the file is sent can only end the answer early.
      target.on('error', () => {});
      copy(type, claimed, target, since)
        .then(() => target.end())
        .catch((error: unknown) => {
          if (error !== clientGone)
            log.error({ code: errorCode(error), error }, 'an export of the directory failed');
          target.destroy(error instanceof Error ? error : undefined);
        })
        .then(end)
        .catch((error: unknown) =>
          log.error({ code: errorCode(error) }, 'the claim of an export was not released'),
        );
      return target;
    },
  };
}

/** A tag of the loads that are active in the open sources. */
function tagOf(sources: readonly SourceRow[]): string {
  const open = sources.filter((source) => isOpen(source.export_right));
  const text = open.map(({ name, active_load_id: load }) => `${name} ${String(load)}`).join('\n');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

interface ExportWriter {
  /** Must have seen every record before the first is added; absent if that is not needed. */
  readonly note?: (record: ProviderRecord) => void;
  /** The lines that can be written after this record. */
  add(record: ProviderRecord): Resource[];
  /** The lines that needed all records. */
  finish(): Iterable<Resource>;
}

/** Resources made in one turn of the event loop at the end, some milliseconds. */
const resourcesAtOnce = 256;

function* portionsOf(resources: Iterable<Resource>): Generator<Resource[]> {
  let portion: Resource[] = [];
  for (const resource of resources) {
    portion.push(resource);
    if (portion.length < resourcesAtOnce) continue;
    yield portion;
    portion = [];
  }
  if (portion.length > 0) yield portion;
}

interface ExportRules {
  /** When a record last changed: seconds since 1970. */
  readonly timeOf: (record: ProviderRecord) => number;
  /** Resources that last changed before this time are omitted: seconds since 1970. */
  readonly since: number;
}

/**
 * Each organization, place and person once; persons with several records are kept until all have been seen.
 */
function createExportWriter(
  type: ResourceType,
  make: ResourceMaker,
  seed: EntitySeed,
  rules: ExportRules,
): ExportWriter {
  switch (type) {
    case 'Endpoint':
    case 'PractitionerRole':
      return {
        add(record) {
          const changedAt = rules.timeOf(record);
          return changedAt < rules.since ? [] : listed(make.make(type, record, { changedAt }));
        },
        finish: () => [],
      };
    case 'Practitioner':
      return createPersonWriter(make, rules);
    case 'Organization':
      return createEntityWriter('organization', type, make, seed, rules);
    case 'Location':
      return createEntityWriter('place', type, make, seed, rules);
  }
}

function listed(resource: Resource | undefined): Resource[] {
  return resource === undefined ? [] : [resource];
}

/**
 * Which persons have several records is counted among those of the export alone: the index in service may be
 * of another load, and the records of closed sources in it would tell of themselves by the order of the
 * others.
 */
function createPersonWriter(make: ResourceMaker, { timeOf, since }: ExportRules): ExportWriter {
  const known = new KeyTable();
  const kept = new Map<string, ProviderRecord[]>();

  function makePerson(records: readonly ProviderRecord[]): Resource[] {
    const named = records.filter(({ lastName }) => lastName !== '');
    const changedAt = named.reduce((latest, record) => Math.max(latest, timeOf(record)), 0);
    if (named.length === 0 || changedAt < since) return [];
    return listed(make.practitioner(named, changedAt));
  }

  function hasSeveral(npi: string): boolean {
    const slot = known.find(...keyOfNpi(npi));
    return slot >= 0 && known.isSeenAt(slot);
  }

  return {
    note({ npi }) {
      if (npi === '') return;
      const key = keyOfNpi(npi);
      const slot = known.find(...key);
      if (slot < 0) known.add(...key, 1, 0, false);
      else known.markSeen(slot);
    },
    add(record) {
      const { npi } = record;
      if (npi === '' || !hasSeveral(npi)) return makePerson([record]);
      const others = kept.get(npi);
      if (others === undefined) kept.set(npi, [record]);
      else others.push(record);
      return [];
    },
    *finish() {
      for (const records of kept.values()) yield* makePerson(records.toSorted((a, b) => a.id - b.id));
    },
  };
}

/** Ten digits in two numbers, of which the table looks at the first. */
function keyOfNpi(npi: string): [low: number, high: number] {
  return [Number(npi.slice(1)), Number(npi.slice(0, 1))];
}

/** When an organization or a place last changed is known once all records have been seen. */
function createEntityWriter(
  kind: EntityKind,
  type: ResourceType,
  make: ResourceMaker,
  seed: EntitySeed,
  { timeOf, since }: ExportRules,
): ExportWriter {
  const known = new KeyTable();
  /** Own NPIs of organizations. */
  const owned = new Map<string, Set<string>>();
  return {
    note(record) {
      const hash = hashOfEntity(record, kind, seed);
      if (hash === undefined) return;
      if (kind === 'organization' && hasOwnNpi(record)) {
        const key = keyOf(hash);
        owned.set(key, (owned.get(key) ?? new Set()).add(record.npi));
      }
      const found = known.find(hash.low, hash.high);
      const slot = found < 0 ? known.add(hash.low, hash.high, 1, 0, false) : found;
      known.setChangedAt(slot, Math.max(known.changedAt(slot), timeOf(record)));
    },
    add(record) {
      const hash = hashOfEntity(record, kind, seed);
      const slot = hash === undefined ? -1 : known.find(hash.low, hash.high);
      if (hash === undefined || slot < 0 || known.isSeenAt(slot)) return [];
      known.markSeen(slot);
      const changedAt = known.changedAt(slot);
      if (changedAt < since) return [];
      const npis = [...(owned.get(keyOf(hash)) ?? [])].toSorted();
      return listed(make.make(type, record, { changedAt, npis }));
    },
    finish: () => [],
  };
}
