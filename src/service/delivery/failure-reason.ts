/** Words of Decision 0012; their status codes are in `service/messaging/reasons.ts`. */
export type DeliveryFailureReason =
  | 'no-certificate'
  | 'untrusted'
  | 'sender-certificate'
  | 'certificate-expired'
  | 'unknown-recipient'
  | 'domain-not-found'
  | 'no-mail-host'
  | 'dns-failed'
  | 'unreachable'
  | 'tls-failed'
  | 'gateway-unavailable'
  | 'smtp-deferred'
  | 'smtp-rejected'
  | 'cancelled'
  | 'internal';
