/**
 * Writes and reads the MDNs and DSNs of Direct: disposition notifications (RFC 8098, formerly RFC 3798 and
 * RFC 2298) and delivery status notifications (RFC 3464), both in a multipart/report (RFC 6522), and the
 * request for final delivery (Implementation Guide for Delivery Notification in Direct).
 *
 * Writing is strict, so that the public test tools accept it; reading accepts the deviations of peers: other
 * cases, blanks, blank lines, missing fields, missing last boundary. A report is not trustworthy before its
 * signature is verified. Not supported: MDN gateways, success DSNs on request (RFC 3461).
 *
 * Called by lib/direct, service/delivery and service/messaging. Pure and synchronous.
 */
export { buildDsn } from './build-dsn.ts';
export { buildMdn } from './build-mdn.ts';
export { finalDeliveryHeaders, requestsFinalDelivery } from './final-delivery.ts';
export type { Dsn, Mdn, MdnOrDsn } from './mdn-or-dsn.ts';
export { hasDocumentsBesideReport, isReport } from './find-report.ts';
export { readMdnOrDsn } from './read-mdn-or-dsn.ts';
export { findUnanswered, type Unanswered } from './unanswered.ts';
