/**
 * The security and trust agent of this HISP: `lib/direct` with our keys, our anchors and our resolvers.
 * Signing, encrypting and opening of all but small messages run in worker threads, so that they do not block
 * the event loop; work that waits for the network (discovery, issuers, CRLs) stays on the main thread.
 *
 * Standards: AS-30 to AS-84, TRUST-01 to TRUST-11, DISC-01 to DISC-12. Called by delivery (outgoing) and
 * messaging (incoming).
 */
export type {
  Agent,
  IncomingEnvelope,
  OpenedIncoming,
  OpenOptions,
  CertificateFinding,
  PathCertificate,
  RefusedRecipient,
  ResolvedRecipients,
  SignerFinding,
  UsableRecipient,
} from './agent.ts';
export { createAgent, type AgentOptions, type TrustWarning } from './create-agent.ts';
export { createRecipientJudge, type RecipientJudge } from './judge-recipient.ts';
export { AgentError, agentErrors } from './errors.ts';
export {
  findAnswerable,
  findRefusedSigner,
  reasonOfRefusal,
  refusalDetail,
  refusalReason,
} from './refusal-reason.ts';
export type { RecipientExplainer, RecipientVerdict } from './agent.ts';
export { isDomainMissing, type AnswerableMessage, type DiscoveryStep } from '../../lib/direct/index.ts';
