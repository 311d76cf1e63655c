import { maxReportedLines } from '../../limits.ts';
import type { LinkReport } from './link-paths.ts';
import type { NpdResource } from './manifest.ts';
import type { PassCount, PassNotes } from './passes.ts';

export interface ReleaseFileReport {
  readonly name: string;
  readonly lines: number;
  /** Lines that had to be read and are no such resource, with the first of their numbers. */
  readonly faults: { readonly count: number; readonly lines: readonly number[] };
}

/** The report of a load of the national directory, in addition to the quality of its rows. */
export interface ReleaseReport {
  readonly generatedAt: string;
  readonly files: readonly ReleaseFileReport[];
  readonly links: LinkReport;
  /** Records of practitioners that are on the exclusion list of HHS. */
  readonly excluded: number;
  /** Resources that were not used, by reason. */
  readonly unused: Readonly<Record<PassCount, number>>;
}

export interface ReleaseNotes extends PassNotes {
  readonly unused: Readonly<Record<PassCount, number>>;
  faultsOf(resource: NpdResource): ReleaseFileReport['faults'];
}

export function createReleaseNotes(): ReleaseNotes {
  const faults = new Map<NpdResource, { count: number; lines: number[] }>();
  const unused: Record<PassCount, number> = {
    otherEndpoints: 0,
    inactiveEndpoints: 0,
    inactiveRoles: 0,
    inactivePractitioners: 0,
    inactiveOrganizations: 0,
    inactiveLocations: 0,
    pseudoOrganizations: 0,
  };
  return {
    unused,
    faultsOf: (resource) => faults.get(resource) ?? { count: 0, lines: [] },
    fault(resource, line) {
      const found = faults.get(resource) ?? { count: 0, lines: [] };
      faults.set(resource, found);
      found.count++;
      if (found.lines.length < maxReportedLines) found.lines.push(line);
    },
    count(what) {
      unused[what]++;
    },
  };
}

/** The report as lines for a person. */
export function formatReleaseReport(report: ReleaseReport): string[] {
  const { links } = report;
  const describe = (kind: 'person' | 'organization' | 'place'): string => {
    const paths = Object.entries(links[kind].paths).map(([path, count]) => `${path} ${count}`);
    return `  to ${kind === 'organization' ? 'an' : 'a'} ${kind}: ${links[kind].count} (${paths.join(', ')})`;
  };
  const faulty = report.files.filter(({ faults }) => faults.count > 0);
  return [
    `release of ${report.generatedAt}; line numbers are those of the Endpoint file`,
    `${links.addresses} Direct addresses, linked`,
    describe('person'),
    describe('organization'),
    describe('place'),
    `  to nothing: ${links.unlinked}`,
    `${report.excluded} records of practitioners on the exclusion list of HHS`,
    ...Object.entries(report.unused)
      .filter(([, count]) => count > 0)
      .map(([reason, count]) => `  not used, ${reason}: ${count}`),
    ...faulty.map(
      ({ name, faults }) =>
        `  ${name}: ${faults.count} lines cannot be read: ${faults.lines.slice(0, 10).join(', ')}${faults.count > 10 ? ', …' : ''}`,
    ),
  ];
}
