/** Limits of `lib/dns`, each with its unit, source and reason. */

/** For one exchange with one server (DISC-11). */
export const queryTimeoutMs = 3_000;
/** Rounds over all servers. */
export const queryAttempts = 3;
/** RFC 1035 §4.1.1. */
export const headerOctets = 12;
/** RFC 1035 §2.3.4. */
export const maxLabelOctets = 63;
/** RFC 1035 §2.3.4, length octets and the root label included. */
export const maxNameOctets = 255;
/** As many as a name has labels at most, each of which a writer can compress. */
export const maxNamePointers = 127;
/** RFC 1035 §4.2.1: the size that every resolver accepts without EDNS0. */
export const plainUdpOctets = 512;
/**
 * Largest UDP message asked for and sent: fits every path without fragments (DNS flag day 2020;
 * RFC 6891 §6.2.5).
 */
export const ednsUdpOctets = 1232;
/** RFC 1035 §4.2.2: the length prefix has 16 bits. */
export const maxTcpOctets = 65_535;
/** More records than any honest answer has; refused before anything is built from them. */
export const maxRecords = 1_000;
/** CNAME records followed for one question. */
export const maxAliases = 8;
/** Datagrams that do not match the question before the resolver stops listening and asks over TCP. */
export const maxStrayDatagrams = 32;
/** DISC-12: answers are kept at most a day. */
export const maxCacheSeconds = 86_400;
/** DISC-12: absence is kept at most five minutes. */
export const maxNegativeCacheSeconds = 300;
export const maxCacheEntries = 10_000;
/** A CERT answer may have 64 kB, so entries alone would not bound the memory. */
export const maxCacheOctets = 32 * 1024 * 1024;
/** RFC 7766 §6.2.3: a server may close idle connections; a few seconds suffice for pipelined questions. */
export const tcpIdleMs = 10_000;
export const maxTcpConnections = 256;
/**
 * Connections from one address (of IPv6 a /64, which one machine has), so that one peer cannot take them all.
 */
export const maxTcpConnectionsPerPeer = 32;
/** A connection without an open question for this time makes room for a new one when all are in use. */
export const tcpEvictIdleMs = 1_000;
/** Questions of one TCP connection worked on at once; reading pauses above that. */
export const maxPipelinedQueries = 32;
/** UDP questions worked on at once; more are dropped, and the asker tries again. */
export const maxUdpQueriesInFlight = 1_000;
/**
 * Full answers over UDP to one network in a second, after the burst is exhausted; a busy resolver stays far
 * below.
 */
export const udpResponsesPerSecond = 500;
export const udpResponseBurst = 2_000;
/** Networks counted at the same time. */
export const maxRateEntries = 50_000;
