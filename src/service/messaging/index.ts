/**
 * Direct messages between edge clients and other HISPs: accepts and composes sends, keeps each recipient's
 * state, correlates MDNs, keeps the inbox, and notifies clients by webhook.
 *
 * Specification: Messaging spec (all of it) with Decisions 0009 to 0014. Standards: RFC 5322, RFC 8098,
 * RFC 3464, MDN-01 to MDN-30, DSN-01 to DSN-05, XDM-12, AS-70 to AS-82. State changes go through one pure
 * table (`states.ts`) and one function that stores them (`record-event.ts`). State that must survive is in
 * rows with a time and a lease. Not here: cryptography and trust (service/agent), carrying mail
 * (service/delivery), HTTP and SMTP (app). Folders, each of which may import those before it: `request` reads
 * what clients send, pure; `contents` composes and opens messages, in threads if they are large; `status` has
 * the states of recipients; `evidence` keeps and signs what proves a delivery; `send` accepts messages of
 * clients (begin at `accept-message.ts`); `inbound` accepts mail of other HISPs (begin at
 * `accept-mail.ts`); `inbox` serves what was received; `operator` is the view of operators; `usage` counts
 * what clients send.
 * Called by the HTTP and SMTP edges; delivery tells `onDeliveryOutcome`.
 */
import type { Messaging, MessagingOptions } from './create-messaging.ts';

export type { Messaging, MessagingOptions } from './create-messaging.ts';
export type { AddressCheck } from './send/check-addresses.ts';
export type { MessageStatus, SentMessageStatus } from './status/find-status.ts';
export type { Outcome } from './status/list-outcomes.ts';
export type { InboundAttachmentPayload, InboundPayload } from './contents/inbound-payload.ts';
export { maxBodyBytes, maxTextCharacters, type SendLimits } from './limits.ts';
export type { InboxPage } from './inbox/list-inbox.ts';
export type { InboundDocument } from './contents/inbound-document.ts';
export { adviceFor, failureReasons, retriedText, stateTexts, waitingText } from './reasons.ts';
export type { IncomingAgent, RequestOrigin } from './ports.ts';
export { flagFields, textFields } from './request/send-fields.ts';
export type { TestMessage } from './send/send-test.ts';
export type { SubmitAnswer, SubmittedMail } from './send/submit-message.ts';
export type { DirectLimits } from './inbound/accept-mail.ts';
export { recipientStates } from './status/states.ts';
export { createEventCounts } from './count-events.ts';
export { createMessagingOperator, type MessagingOperator } from './operator/operator.ts';
export type { Attempt } from './evidence/attempts.ts';
export type { EvidenceDocument } from './evidence/build-evidence.ts';
export { evidenceType, type SignedEvidence } from './evidence/sign-evidence.ts';
export type { FoundMessage } from './operator/find-messages.ts';
export type { ReceivedMessage } from './operator/find-received.ts';
export type { SearchQuery, SearchRow } from './operator/search-messages.ts';
export type {
  MessageDetails,
  MessageExplanation,
  ReceivedExplanation,
  RecipientExplanation,
} from './operator/explain-message.ts';
export { buildRefusedPath, buildTrustedPath, type CertificatePath } from './operator/certificate-paths.ts';
export type { Station } from './operator/stations.ts';
export {
  inboundKinds,
  type InboundEntry,
  type InboundKind,
  type ShownInbound,
  type WaitingMail,
} from './operator/list-inbound.ts';
export type { MessagingTables } from './tables.ts';
export { largeBytes, UnparsedJson } from './request/unparsed-json.ts';
export { countDeadLetters, listDeadLetters, type DeadLetter } from './inbound/dead-letters.ts';
export {
  isInboundMailDue,
  measureInboundMail,
  countReceived,
  measureUnacknowledged,
} from './measure-inbound.ts';
export { messagingEncryptedColumns } from './encrypted-columns.ts';
export type { QueuedDestination, SelectedDestination } from '../delivery/index.ts';
export { inboundTextOf } from './operator/inbound-texts.ts';
export { measureDeliveries, type DeliveryMonth, countSent } from './operator/measure-deliveries.ts';

export { monthsBefore, readUsage, usageGroups, type UsageGroup, type UsageRow } from './usage/read-usage.ts';
export { readTraffic } from './traffic.ts';
export { describeUnread, listAllUnread, listUnread, type UnreadSources } from './unread-addresses.ts';
export { countFailures } from './operator/count-failures.ts';
export { isTimeZone } from './operator/read-day.ts';

/** Not with the rest: commands need rows and texts, not what composes and opens messages. */
export const loadMessaging = async (): Promise<(options: MessagingOptions) => Messaging> =>
  (await import('./create-messaging.ts')).createMessaging;
