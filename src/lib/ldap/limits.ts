/** Limits of `lib/ldap`, each with its unit, source and reason. */

/** DISC-11: for one server, from connecting to the last entry. */
export const lookupTimeoutMs = 5_000;
/** Connecting alone; a host that drops packets shall not use up the time of those after it. */
export const connectTimeoutMs = 4_000;
/** Largest number of octets from one server per lookup. */
export const maxResponseOctets = 4 * 1024 * 1024;
/** Messages read from one server in one lookup: the entries of some naming contexts, and a reserve. */
export const maxResponseMessages = 5_000;
/** Of one message. */
export const maxResponseElements = 10_000;
/** Of all messages of a lookup: an element of two octets takes two hundred. */
export const maxLookupElements = 100_000;
/** The time limit requested of the server; our own time limit does not depend on it. */
export const searchTimeLimitSeconds = 10;
export const maxTargets = 8;
export const maxAddressesPerTarget = 2;
export const maxNamingContexts = 20;
export const maxEntries = 100;
export const maxCertificates = 100;
/** Far larger than any known certificate. */
export const maxCertificateOctets = 64 * 1024;

/** Limit of the responder. A search request has a few hundred octets. */
export const maxRequestOctets = 16 * 1024;
export const maxFilterDepth = 32;
export const maxRequestElements = 1_000;
/** Addresses named by one search. */
export const maxMailValues = 20;
export const maxConnections = 256;
/** Of one IPv4 address or IPv6 /64. */
export const maxConnectionsPerPeer = 32;
/** A connection that has owed no answer for this time makes room for a new one when all are in use. */
export const evictIdleMs = 1_000;
export const idleMs = 60_000;
/** Requests of one connection that wait for their turn before reading pauses. */
export const maxWaitingRequests = 16;
