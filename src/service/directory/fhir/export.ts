import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { PassThrough, type Readable } from 'node:stream';
import { errorCode, type Log } from '../../../core/index.ts';
import {
  hashOfEntity,
  type EntityKind,
  type EntitySeed,
  type SearchPool,
} from '../../../lib/provider-index/index.ts';
import type { ProviderRecord } from '../../../lib/provider-record/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { DirectoryError } from '../errors.ts';
import { KeyTable } from '../records/key-table.ts';
import { readOpenRecords } from '../sources/open-records.ts';
import { claimSources, type ClaimedSources } from '../store/claim-generation.ts';
import { findSources, isOpen } from '../store/sources.ts';
import { loadState } from '../store/state.ts';
import type { DirectoryTables, SourceRow } from '../store/tables.ts';
import { plainText, toJsonRecord, type JsonRecord } from './json-records.ts';
import type { Resource, ResourceMaker } from './make-resources.ts';
import type { ResourceType } from './vocabulary.ts';

/** Exports that this node writes at once; each reads all stored records once. */
const maxExports = 2;
const busyRetrySeconds = 60;

/** Ends the reading of records for which nobody waits any more. */
const clientGone = new Error('the client has gone');

export interface OpenExport {
  /** Names what the open sources hold now: another text after each load of one. */
  tag(): Promise<string>;
  /**
   * NDJSON of one kind of resource, from records of open sources alone. Throws DIRECTORY_EXPORT_CHANGED if they are
   * others than those of the tag, DIRECTORY_EXPORT_BUSY if too many are being written.
   */
  write(type: ResourceType, tag: string): Promise<Readable>;
}

export interface OpenExportOptions {
  readonly storage: Storage;
  /** This node, whose exports keep what they read from being retired. */
  readonly nodeId: string | undefined;
  readonly pool: SearchPool;
  readonly seed: EntitySeed;
  readonly make: ResourceMaker;
  readonly log: Log;
}

export function createOpenExport({ storage, nodeId, pool, seed, make, log }: OpenExportOptions): OpenExport {
  let running = 0;

  async function tag(): Promise<string> {
    const db = storage.tables<DirectoryTables>();
    return tagOf(await findSources(db, await loadState(storage)));
  }

  async function copy(type: ResourceType, claimed: ClaimedSources, target: PassThrough): Promise<void> {
    const writer = createExportWriter(
      type,
      make,
      seed,
      (npi) => (pool.current?.findByNpi(npi).length ?? 0) > 1,
    );
    const send = async (resources: readonly Resource[]): Promise<void> => {
      if (target.destroyed) throw clientGone;
      if (resources.length === 0) return;
      const text = resources.map(({ json }) => `${json}\n`).join('');
      // `close` comes if the client goes.
      if (!target.write(text)) await Promise.race([once(target, 'drain'), once(target, 'close')]);
    };
    await readOpenRecords(storage, claimed, (records) =>
      send(records.flatMap((record) => writer.add(record))),
    );
    await send(writer.finish());
  }

  return {
    tag,
    async write(type, wanted) {
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
      copy(type, claimed, target)
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

/** Names what the open sources hold. */
function tagOf(sources: readonly SourceRow[]): string {
  const open = sources.filter((source) => isOpen(source.export_right));
  const text = open.map(({ name, active_load_id: load }) => `${name} ${String(load)}`).join('\n');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

interface ExportWriter {
  /** The lines that can be written after this record. */
  add(record: ProviderRecord): Resource[];
  /** The lines that needed all records. */
  finish(): Resource[];
}

/** Each organization, place and person once; persons with several records are kept until all have been seen. */
function createExportWriter(
  type: ResourceType,
  make: ResourceMaker,
  seed: EntitySeed,
  hasSeveral: (npi: string) => boolean,
): ExportWriter {
  const known = new KeyTable();
  const kept = new Map<string, JsonRecord[]>();

  function isNew(record: JsonRecord, kind: EntityKind): boolean {
    const hash = hashOfEntity(record, kind, seed, plainText);
    if (hash === undefined || known.find(hash.low, hash.high) >= 0) return false;
    known.add(hash.low, hash.high, 1, 0, true);
    return true;
  }

  function makeOne(record: JsonRecord): Resource | undefined {
    switch (type) {
      case 'Endpoint':
      case 'PractitionerRole':
        return make.make(type, record);
      case 'Organization':
        return isNew(record, 'organization') ? make.make(type, record) : undefined;
      case 'Location':
        return isNew(record, 'place') ? make.make(type, record) : undefined;
      case 'Practitioner':
        if (record.npi === '' || !hasSeveral(record.npi)) return make.practitioner([record]);
        kept.set(record.npi, [...(kept.get(record.npi) ?? []), record]);
        return undefined;
    }
  }

  return {
    add(record) {
      const resource = makeOne(toJsonRecord(record));
      return resource === undefined ? [] : [resource];
    },
    finish: () =>
      [...kept.values()]
        .map((records) => make.practitioner(records.toSorted((a, b) => a.id - b.id)))
        .filter((resource) => resource !== undefined),
  };
}
