import { randomUUID } from 'node:crypto';
import { listLiveNodes, type Storage } from '../../../platform/index.ts';
import { listSources, readChains, type SourceChain } from './sources.ts';
import { lockState, readChain, type DirectoryDb } from './state.ts';
import type { DirectoryTables, StateRow } from './tables.ts';

/**
 * Notes that a node is about to serve the active generation, whose blocks then stay until it serves another
 * one. Under the lock of the state, so that the generation cannot be retired in between.
 */
export function claimGeneration(storage: Storage, nodeId: string): Promise<StateRow> {
  return storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    const row = {
      load_id: state.active_load_id,
      revision: state.revision,
      seen_at: storage.clock.now().getTime(),
    };
    await tx
      .insertInto('directory_node')
      .values({ node_id: nodeId, ...row })
      .onConflict((conflict) => conflict.column('node_id').doUpdateSet(row))
      .execute();
    return state;
  });
}

/** The generations of all sources, which stay while somebody reads them. */
export interface ClaimedSources {
  readonly state: StateRow;
  readonly sources: readonly SourceChain[];
  release(): Promise<void>;
}

// Behind the id of a node, which has no such character (schema.ts: node.id).
const exportMark = '/export/';

/**
 * The same for the generations that an export reads. Without a node it is unknown whether the reader still
 * runs, so nothing is claimed.
 */
export async function claimSources(storage: Storage, nodeId: string | undefined): Promise<ClaimedSources> {
  const prefix = nodeId === undefined ? undefined : `${nodeId}${exportMark}${randomUUID()}/`;
  const found = await storage.transaction(async (tx: DirectoryDb) => {
    const state = await lockState(storage, tx);
    const sources = await readChains(tx, await listSources(tx));
    const seenAt = storage.clock.now().getTime();
    for (const { source, chain } of prefix === undefined ? [] : sources)
      if (chain.length > 0)
        await tx
          .insertInto('directory_node')
          .values({
            node_id: `${prefix}${source.name}`,
            load_id: source.active_load_id,
            revision: state.revision,
            seen_at: seenAt,
          })
          .execute();
    return { state, sources };
  });
  return { ...found, release: () => releaseClaims(storage, prefix) };
}

/** Releases the claims of this node's exports: at its start none runs. */
export function releaseExportClaims(storage: Storage, nodeId: string | undefined): Promise<void> {
  return releaseClaims(storage, nodeId === undefined ? undefined : `${nodeId}${exportMark}`);
}

async function releaseClaims(storage: Storage, prefix: string | undefined): Promise<void> {
  if (prefix === undefined) return;
  const db = storage.tables<DirectoryTables>();
  const ids = (await db.selectFrom('directory_node').select('node_id').execute())
    .map(({ node_id: id }) => id)
    .filter((id) => id.startsWith(prefix));
  if (ids.length > 0) await db.deleteFrom('directory_node').where('node_id', 'in', ids).execute();
}

/**
 * The loads that the running nodes need; deletes the claims of nodes that have ended. Only under the lock of
 * the state: a node enters itself before it claims, so that every claimant is listed.
 */
export async function findClaimedLoads(storage: Storage, tx: DirectoryDb): Promise<ReadonlySet<number>> {
  const nodeIds = (await listLiveNodes(storage)).map(({ id }) => id);
  const claimed = new Set<number>();
  for (const row of await tx.selectFrom('directory_node').selectAll().execute()) {
    const [nodeId = ''] = row.node_id.split(exportMark);
    if (!nodeIds.includes(nodeId)) await removeClaim(tx, row.node_id);
    else if (row.load_id !== null) for (const { id } of await readChain(tx, row.load_id)) claimed.add(id);
  }
  return claimed;
}

async function removeClaim(
  tx: DirectoryDb,
  nodeId: DirectoryTables['directory_node']['node_id'],
): Promise<void> {
  await tx.deleteFrom('directory_node').where('node_id', '=', nodeId).execute();
}
