import { listLiveNodes, type Storage } from '../../../platform/index.ts';
import { lockState, readChain, type DirectoryDb } from './state.ts';
import type { DirectoryTables, StateRow } from './tables.ts';

/**
 * Notes that a node is about to serve the active generation, whose blocks then stay until it serves another one. Under
 * the lock of the state, so that the generation cannot be retired in between.
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

/**
 * The loads that the running nodes need; what other nodes have left is deleted. Only under the lock of the state: a node
 * enters itself before it claims, so that whoever has claimed is listed.
 */
export async function findClaimedLoads(storage: Storage, tx: DirectoryDb): Promise<ReadonlySet<number>> {
  const nodeIds = (await listLiveNodes(storage)).map(({ id }) => id);
  const claimed = new Set<number>();
  for (const row of await tx.selectFrom('directory_node').selectAll().execute()) {
    if (!nodeIds.includes(row.node_id)) await removeClaim(tx, row.node_id);
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
