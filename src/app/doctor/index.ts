/**
 * Examines an installation from outside and inside, for `openhisp doctor`: what the world sees of each hosted domain (NS, MX, CERT, the
 * mail server), what this HISP has (keys, anchors, bundles, directory, webhooks) and what it stands on (clock, disk, database,
 * listening addresses). Every finding that is not good says what to do.
 *
 * Reads only, sends no message and changes nothing. Asks the DNS, the mail hosts of the hosted domains and one time server.
 * Not here: a view from another network; a firewall that lets this machine through may still keep others out.
 * Called by the command line.
 */
export { examine, type DoctorOptions } from './examine.ts';
export { isHealthy, type Finding, type Severity } from './findings.ts';
export { readWorldPorts, writeWorldPorts } from './world-ports.ts';
