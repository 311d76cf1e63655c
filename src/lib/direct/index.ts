/**
 * The security and trust agent of Direct: finds and validates recipients' certificates, seals outgoing
 * messages (wrap, sign, encrypt), opens incoming ones (decrypt, verify, unwrap) and verifies who sent them.
 *
 * Standards: Applicability Statement for Secure Health Transport (2021 edition) chapters 2, 4 and 5;
 * RFC 8551; RFC 4398; Decisions 0015 and 0016. Not here: MDN and DSN texts (lib/mdn), mail transport
 * (lib/smtp), stored keys and anchors (service/trust). Sealing and opening are CPU only and can run in worker
 * threads (`createAgentJobRunner`); the rest waits for the network. Anchors,
 * keys, time, DNS, LDAP and fetching are arguments.
 * Called by service/trust, service/agent, app/dev and the command line.
 */
export {
  AnswerableError,
  directErrors,
  DirectError,
  RefusedSignerError,
  type AnswerableMessage,
  type DirectErrorCode,
} from './errors.ts';
export { defaultMessagePolicy, type MessagePolicy } from './policy.ts';
export { sealMessage, type SealedMessage, type SealRequest } from './seal-message.ts';
export { openMessage, type OpenedMessage } from './open-message.ts';
export {
  createAgentJobRunner,
  type AgentJobRunner,
  type KeyBytes,
  type OpenJob,
  type SealJob,
} from './agent-jobs.ts';
export { verifySender, type SenderTrust, type VerifiedSender } from './verify-sender.ts';
export type { Envelope } from './check-envelope.ts';
export { createDiscovery, type Discovery, type DiscoveryOptions } from './discovery/discovery.ts';
export { isDomainMissing } from './discovery/steps.ts';
export type { DiscoverySource, DiscoveryStep } from './discovery/steps.ts';
export {
  areExpired,
  resolveRecipient,
  type RecipientTrust,
  type RefusedCertificate,
  type RefusedRecipient,
  type UsableRecipient,
} from './resolve-recipient.ts';
