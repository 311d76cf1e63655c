/**
 * The composition root: builds every part of a HISP from its configuration, starts it and stops it.
 *
 * The only place that sees all services. Called by the command line (`serve`) and by the sandbox world.
 */
import type { Hisp, HispOptions } from './start-hisp.ts';

export type { Hisp } from './start-hisp.ts';
export type { CheckedRecord, DomainChecks, ExpectedRecord, PlaygroundPort } from '../console/index.ts';
export { beginInstallationIntegrity, guardedTables } from './begin-integrity.ts';
export { readBackupState } from './backup-state.ts';
export { resolversOf } from './resolvers-of.ts';
export { createOutgoingMail } from './outgoing-mail.ts';
export { publicAddressesOf } from './public-addresses.ts';
export { readTlsCertificate } from './watch-certificates.ts';
export { clockToleranceMs } from './watch-clock.ts';
export { checkWritable } from './write-probe.ts';
export { createHostedZones } from './hosted-zones.ts';
export { createReleaseOpener } from './open-releases.ts';

/** Starts a HISP. Loaded by the call: commands need the rest of this module, without the HTTP servers. */
export const startHisp = async (options: HispOptions): Promise<Hisp> =>
  (await import('./start-hisp.ts')).startHisp(options);
