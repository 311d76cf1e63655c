import type { DirectoryStatus, LoadSummary } from '../../../service/directory/index.ts';

/** The status as lines for a person. */
export function formatStatus(status: DirectoryStatus): string[] {
  return [
    status.active === undefined ? 'No directory has been loaded.' : `Active:   ${describe(status.active)}`,
    ...(status.previous === undefined ? [] : [`Rollback: ${describe(status.previous)}`]),
    ...(status.running === undefined ? [] : [`Running:  ${describe(status.running)}`]),
    `Hosted addresses listed: ${status.provisionedCount}`,
    'Loads, newest first:',
    ...status.loads.map((load) => `  ${describe(load)}`),
  ];
}

function describe(load: LoadSummary): string {
  return (
    `load ${load.id}, ${load.state}, ${load.kind}, ${load.recordCount} records, from ${load.source} (${load.format}), ` +
    (load.finishedAt ?? `started ${load.startedAt}`)
  );
}
