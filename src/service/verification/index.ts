/**
 * Verification of the directory's addresses: whether a certificate is found for them, and whether this
 * service would trust it (Decision 0027). A background job checks every address as a send would, politely,
 * and never while mail waits.
 *
 * The results are shown and counted. They decide nothing: each message finds and validates its recipients'
 * certificates again. Called by app/server and app/cli.
 */
export { startVerification, type Verification, type VerificationOptions } from './create-verification.ts';
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
