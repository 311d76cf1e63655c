import type { Generated } from 'kysely';
import type { LeaseColumns } from '../../platform/index.ts';
import type { RecipientEvent, RecipientState } from './status/states.ts';

export interface MessageRow {
  /** Internal; also the id of the delivery. */
  id: string;
  client_id: string;
  /** The API's name without `urn:uuid:`. */
  uuid: string;
  /** `<uuid@sender-domain>`, as in the Message-ID field. */
  wire_id: string;
  /** Counts the messages that went out under that Message-ID, to other recipients each time. */
  wire_number: number;
  sender: string;
  sender_key: string;
  /** Keyed hash of the request, hex; empty if the client gave no id. */
  request_hash: string;
  /** The first answer, byte for byte. */
  response: string;
  is_xdm: number;
  is_asm_enabled: number;
  requests_final_delivery: number;
  /** The fields of the request except attachment contents, as JSON, encrypted for `message:<id>`. */
  sealed_details: Uint8Array | null;
  /** Of the message as it was composed, before it is sealed. */
  size_bytes: number;
  created_at: number;
}

export interface RecipientRow {
  id: string;
  message_id: string;
  position: number;
  address: string;
  address_key: string;
  state: RecipientState;
  has_dispatched_notice: number;
  reason: string;
  status_code: string;
  status_at: number;
  /** End of the wait for an MDN. */
  deadline_at: number | null;
  /** Rows of its history. */
  event_count: number;
  /** These three are those of its message, so that operators can search by them. */
  created_at: number;
  sender_key: string;
  client_id: string;
  /** The edge account that sent it; null for what came by the REST API. */
  edge_account: string | null;
  /** The protocol by which that account sent it. */
  edge_protocol: string | null;
  /** When that account was told the outcome. */
  edge_told_at: number | null;
}

export interface RecipientEventRow {
  id: string;
  recipient_id: string;
  position: number;
  event: RecipientEvent;
  from_state: string;
  to_state: RecipientState;
  reason: string;
  status_code: string;
  diagnostic: string;
  at: number;
}

/** `waiting` mail is worked on when due; a `dead-letter` could not be processed and waits for an operator. */
export type InboundState = 'waiting' | 'dead-letter';

/** Due times and leases are by `Storage.clock`. */
export interface InboundMailRow extends LeaseColumns {
  mail_from: string;
  /** JSON list of the envelope's recipients. */
  recipients: string;
  sealed_mail: Uint8Array;
  /** SHA-256 of message and envelope; unique among waiting mail. */
  content_hash: string;
  /** Of the peer that brought it; empty if unknown. */
  network: string;
  /** The same, the address itself. */
  remote_address: string;
  /** Claimed by the envelope; empty for the null sender. */
  sender_domain: string;
  /** Among whom slots are shared: network and sender domain. */
  party: string;
  /** 1 if only fetches from the network can determine whether the sender is trusted. */
  needs_fetch: number;
  state: InboundState;
  /** Begun, not finished: mail that ends the process is counted too. */
  attempts: number;
  next_attempt_at: number;
  /** Code. */
  last_error: string;
  received_at: number;
}

/** That this was received once, long after the mail is gone. */
export interface ReceivedRegisterRow {
  /** SHA-256 over sender, Message-ID, content, and for whom it was. */
  hash: Uint8Array;
  received_at: number;
  /** Time of the last answer to a duplicate; 0: never. */
  answered_at: number;
}

export interface InboxMessageRow {
  id: string;
  sender: string;
  wire_id: string;
  sealed_message: Uint8Array;
  requests_final_delivery: number;
  attachment_count: number;
  size_bytes: number;
  received_at: number;
}

export interface InboxCopyRow {
  /** The API's name of this recipient's copy, without `urn:uuid:`. */
  id: string;
  message_id: string;
  address: string;
  address_key: string;
  domain: string;
  acknowledged_at: number | null;
  /**
   * When its dispatched MDN went out, if not with its own acknowledgement: when it was stored, or when one of
   * those to whom it was delivered was first.
   */
  dispatched_at: number | null;
  warned_at: number | null;
  received_at: number;
  /** Addresses here, lower-cased and separated by blanks, that got it for this one; empty: none did. */
  delivered_to: string;
  /** In the same form the addresses that it was sent to, if this is not one of them. */
  forwarded_from: string;
  /** Over `delivered_to` and `forwarded_from`, if one is not empty, since the content does not tell them. */
  forward_mac: Uint8Array | null;
}

/** A message as it went out, for the edge account that sent it; kept as long as the details of the send. */
export interface SentMessageRow {
  message_id: string;
  edge_account: string;
  sealed_message: Uint8Array;
  size_bytes: number;
  created_at: number;
}

/** A signed MDN as it was received, encrypted; kept as long as the history of its recipient. */
export interface MdnEvidenceRow {
  id: string;
  recipient_id: string;
  /** The signed entity, encrypted for `evidence:<id>`. */
  sealed_mdn: Uint8Array;
  /** JSON list of fingerprints: the signer first, the anchor last. */
  signer_path: string;
  received_at: number;
}

/** A certificate on the validated path of an MDN's signer; `used_at` is right within a day. */
export interface PathCertificateRow {
  /** SHA-256 of `der`, lower-case hex. */
  fingerprint: string;
  der: Uint8Array;
  used_at: number;
}

/** What a client sent from addresses of a domain on a day. */
export interface UsageDayRow {
  /** In UTC, `YYYY-MM-DD`. */
  day: string;
  client_id: string;
  /** Of the client when it was counted. */
  organization_id: string;
  domain: string;
  messages: number;
  recipients: number;
  octets: number;
  /** Recipients by their state; the rest wait. */
  delivered: number;
  failed: number;
}

/** When the rows of a day were counted. */
export interface UsageCountRow {
  day: string;
  counted_at: number;
  /** 1: the day is over and each of its recipients has its last state. */
  is_final: number;
}

export interface MessagingTables {
  usage_day: UsageDayRow;
  usage_count: UsageCountRow;
  mdn_evidence: MdnEvidenceRow;
  path_certificate: PathCertificateRow;
  message: MessageRow;
  message_recipient: RecipientRow;
  recipient_event: RecipientEventRow;
  sent_message: SentMessageRow;
  inbound_mail: Omit<InboundMailRow, 'remote_address'> & { remote_address: Generated<string> };
  received_register: ReceivedRegisterRow;
  inbox_message: InboxMessageRow;
  inbox_copy: Omit<InboxCopyRow, 'delivered_to' | 'forwarded_from'> & {
    delivered_to: Generated<string>;
    forwarded_from: Generated<string>;
  };
}

/** What audit rows say of a sent message; others may have its Message-ID. */
export const objectsOf = ({ id, wire_id, sender }: Pick<MessageRow, 'id' | 'wire_id' | 'sender'>) => ({
  deliveryId: id,
  messageId: wire_id,
  from: sender,
});

/** The encryption context of a sent message that is kept. */
export const sentContext = (messageId: string): string => `sent:${messageId}`;

/** The encryption context of an inbox message. */
export const inboxContext = (messageId: string): string => `inbox:${messageId}`;
