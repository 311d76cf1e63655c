/**
 * Examines an installation for `openhisp doctor`: the public records and servers of each hosted domain (NS,
 * MX, CERT, mail server), the data of this HISP (keys, anchors, bundles, directory, webhooks) and its
 * environment (clock, disk, database, listening addresses). Every finding that is not good contains a remedy.
 *
 * Reads only, sends no message and changes nothing. Queries the DNS, the mail hosts of the hosted domains and
 * one time server. Not here: a view from another network; a firewall that allows this machine may still block
 * others. Called by the command line, and for the console by the running server.
 */
import type { DoctorOptions } from './doctor-options.ts';
import type { Finding } from './findings.ts';

export type { DoctorOptions } from './doctor-options.ts';
export { createDomainChecks } from './domain-checks.ts';
export { listDomainRecords } from './domain-records.ts';
export { usualTimeServer } from './usual-time-server.ts';
export { isHealthy, type Finding, type Severity } from './findings.ts';
export { readWorldPorts, writeWorldPorts } from './world-ports.ts';

/** Examines the installation. Loaded by the call: `domain records` needs none of it. */
export const examine = async (options: DoctorOptions): Promise<readonly Finding[]> =>
  (await import('./examine.ts')).examine(options);
