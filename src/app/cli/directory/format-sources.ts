import type { LoadSummary, ShownRecord, SourceStatus } from '../../../service/directory/index.ts';

/** The sources as lines for a person. */
export function formatSources(sources: readonly SourceStatus[]): string[] {
  if (sources.length === 0) return ['No source has been loaded.'];
  return [
    'Sources, the first takes precedence (hosted addresses come before all):',
    ...sources.flatMap((source, at) => [
      `  ${at + 1}. ${source.name} (${source.exportRight}): ${describe(source.active)}`,
      ...(source.previous === undefined ? [] : [`       rollback: ${describe(source.previous)}`]),
      ...describeSchedule(source),
    ]),
  ];
}

function describe(load: LoadSummary | undefined): string {
  if (load === undefined) return 'nothing loaded';
  return `load ${load.id}, ${load.recordCount} records, from ${load.source} (${load.format}), ${load.finishedAt ?? ''}`;
}

function describeSchedule({ schedule }: SourceStatus): string[] {
  if (schedule === undefined) return [];
  const { path, everyMs, checkedAt, failure } = schedule;
  return [
    `       scheduled: ${path}, every ${everyMs / 60_000} min, last check ${checkedAt ?? 'never'}`,
    ...(failure === undefined ? [] : [`       FAILED: ${failure}`]),
  ];
}

/** One record as lines for a person: each value with its source, then the values of each source. */
export function formatRecord({ id, isOpen, values, said }: ShownRecord): string[] {
  return [
    `Record ${id}, ${isOpen ? 'open to exports' : 'closed to exports'}`,
    ...Object.entries(values).map(([name, { value, source }]) => `  ${name}: ${value} (${source})`),
    ...said.map(
      (one) =>
        `  ${one.source} (${one.exportRight}) says: ${Object.entries(one.values)
          .map(([name, value]) => `${name}=${value}`)
          .join(', ')}`,
    ),
  ];
}
