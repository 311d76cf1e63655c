/** Limits of `lib/smtp`, each with its unit, source and reason. */

/** 25 MB of attachments, base64 inside base64 (wrapped, signed, encrypted), and headers. */
export const maxMessageBytes = 60_000_000;
/** Memory of all messages being received, so that many slow senders cannot exhaust it. */
export const maxBytesInFlight = 256_000_000;
/** Of that, for one network. */
export const maxBytesPerNetwork = 128_000_000;
/** Reserved for a message whose size was not announced (RFC 1870); it grows from there. */
export const unannouncedBytes = 64 * 1024;
/** RFC 5321 §4.5.3.1.8 requires at least 100 (EDGE-08). */
export const maxRecipients = 500;
/** RFC 5321 §4.5.3.1.4 requires 512 octets; ours leaves room for long paths and parameters. */
export const maxCommandOctets = 2_048;
export const maxConnections = 200;
export const maxConnectionsPerPeer = 20;
/** A /24 of IPv4 or a /64 of IPv6. */
export const maxConnectionsPerNetwork = 50;
/** Minimum idle time before a connection may be evicted for a new one, when all are in use. */
export const evictIdleMs = 2_000;
/** Commands without a message (NOOP, RSET, refused ones) since the last accepted message. */
export const maxUselessCommands = 50;
/**
 * Recipients refused since the last accepted message that do not count as useless: a client names all
 * recipients of a message at once, and sends to those above the limit later (RFC 5321 §4.5.3.1.10). As many
 * as Postfix allows (smtpd_recipient_overshoot_limit).
 */
export const maxRefusedRecipients = 1_000;
/** Bytes of a message that must come within the window. */
export const minBytesPerSecond = 500;
export const rateWindowMs = 30_000;
/** Mail servers cap header sections at about this. */
export const maxHeaderBytes = 262_144;
/** RFC 5321 §4.5.3.2.7: a server waits at least five minutes for the next command (EDGE-04). */
export const serverIdleMs = 5 * 60_000;
/** For the rest of a command line once it has begun (ETT 10 waits 30 seconds for the refusal). */
export const maxLineMs = 20_000;
/** For the handshake after STARTTLS. */
export const maxHandshakeMs = 20_000;
/** Longest session, however active: a peer that sends a few bytes every few minutes delivers no mail. */
export const maxSessionMs = 60 * 60_000;
/** Time to finish messages in progress when the server closes. */
export const closeGraceMs = 5_000;
/** RFC 5321 §4.5.3.1.1, .2, .3: octets of local part, domain, and path without its brackets. */
export const maxLocalPartOctets = 64;
export const maxDomainOctets = 255;
export const maxPathOctets = 254;
/** Characters of a peer's reply that are kept for operators. */
export const maxReplyText = 500;
/** Mail exchangers tried for one domain, and addresses for each. */
export const maxMailHosts = 10;
export const maxAddressesPerHost = 4;
/** The message goes to the socket in pieces, so that a large one does not hold up the event loop. */
export const sendChunkBytes = 64 * 1024;
/** RFC 5321 §4.5.3.2.6: a client waits ten minutes for the reply to a message. */
export const defaultMessageReplyMs = 10 * 60_000;
