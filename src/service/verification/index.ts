/**
 * Verification of the directory's addresses: whether a certificate is found for them, and whether this
 * service would trust it (Decision 0027). A background job checks every address as a send would, politely,
 * and never while mail waits.
 *
 * The results are shown and counted. They decide nothing: each message finds and validates its recipients'
 * certificates again. Called by app/server and app/cli.
 */
import type { Verification, VerificationOptions } from './create-verification.ts';

export type { Verification, VerificationOptions } from './create-verification.ts';
export { createAddressStates, readAddressState } from './address-slots.ts';
export { createProcessedNotes } from './processed.ts';
export { setRunning } from './running.ts';
export { verifiedStates } from './tables.ts';
export {
  readDomainFigures,
  readSourceFigures,
  readVerificationStatus,
  type DomainFigures,
  type SourceFigures,
  type VerificationStatus,
} from './report.ts';

/** What starts the job. Loaded by the call: commands read its results only. */
export const loadVerification = async (): Promise<(options: VerificationOptions) => Verification> =>
  (await import('./create-verification.ts')).startVerification;
