import { formatSources } from './format-sources.ts';
import type { DirectoryStatus, LoadSummary } from '../../../service/directory/index.ts';

/** The status as lines for a person. */
export function formatStatus(status: DirectoryStatus): string[] {
  return [
    status.active === undefined ? 'No directory has been loaded.' : `Active:   ${describe(status.active)}`,
    ...(status.previous === undefined ? [] : [`Rollback: ${describe(status.previous)}`]),
    ...(status.running === undefined ? [] : [`Running:  ${describe(status.running)}`]),
    // A single source without a name needs no list.
    ...(status.sources.length > 1 || status.sources.some(({ name }) => name !== 'default')
      ? formatSources(status.sources)
      : []),
    `Hosted addresses listed: ${status.provisionedCount}`,
    'Loads, newest first:',
    ...status.loads.flatMap(({ failure, ...load }) => [
      `  ${describe(load)}`,
      ...(failure === undefined ? [] : [`       ABORTED: ${failure}`]),
    ]),
  ];
}

function describe(load: LoadSummary): string {
  return (
    `load ${load.id}, ${load.state}, ${load.kind}, ${load.recordCount} records, from ${load.source} (${load.format}), ` +
    (load.finishedAt ?? `started ${load.startedAt}`)
  );
}
