/** Why a message did not reach a recipient; the words that the API uses (Decision 0012). */
export type FailureReason =
  | 'no-certificate'
  | 'untrusted'
  | 'unknown-recipient'
  | 'smtp-rejected'
  | 'no-processed-mdn'
  | 'no-dispatched-mdn'
  | 'remote-failed'
  | 'internal';

/** Enhanced status codes by reason (DSN-04, RFC 3463 §3). A code of the other server's, where there is one, goes before these. */
export const failureStatusCodes: Readonly<Record<FailureReason, string>> = {
  'no-certificate': '5.7.31',
  untrusted: '5.7.11',
  'unknown-recipient': '5.1.1',
  'smtp-rejected': '5.0.0',
  'no-processed-mdn': '5.4.71',
  'no-dispatched-mdn': '5.4.72',
  'remote-failed': '5.2.0',
  internal: '5.3.0',
};
