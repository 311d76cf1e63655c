/** Limits of `lib/smtp`, each with its unit, source and reason. */

/** 25 MB of attachments, base64 inside base64 (wrapped, signed, encrypted), and headers. */
export const maxMessageBytes = 60 * 1024 * 1024;
/** All messages being received together, so that many slow senders cannot exhaust the memory. */
export const maxBytesInFlight = 512 * 1024 * 1024;
/** RFC 5321 §4.5.3.1.8 asks for at least 100 (EDGE-08). */
export const maxRecipients = 500;
/** RFC 5321 §4.5.3.1.4 asks for 512 octets; ours leaves room for long paths and parameters. */
export const maxCommandOctets = 2_048;
export const maxConnections = 200;
export const maxConnectionsPerPeer = 50;
/** RFC 5321 §4.5.3.2.7: a server waits at least five minutes for the next command (EDGE-04). */
export const serverIdleMs = 5 * 60_000;
/** However busy a session looks, it ends some time: a drop of data every few minutes is no mail. */
export const maxSessionMs = 60 * 60_000;
/** How long messages under way may still be finished when the server closes. */
export const closeGraceMs = 5_000;
/** RFC 5321 §4.5.3.1.1, .2, .3: octets of local part, domain, and path without its brackets. */
export const maxLocalPartOctets = 64;
export const maxDomainOctets = 255;
export const maxPathOctets = 254;
/** Of a peer's reply, this much is kept for operators. */
export const maxReplyText = 500;
/** Mail exchangers tried for one domain, and addresses for each. */
export const maxMailHosts = 10;
export const maxAddressesPerHost = 4;
/** The message goes to the socket in pieces, so that a large one does not hold up the event loop. */
export const sendChunkBytes = 64 * 1024;
