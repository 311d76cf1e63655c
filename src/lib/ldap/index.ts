/**
 * LDAP for certificates: the client side of Direct discovery and a small responder that publishes hosted
 * certificates (RFC 4511, 4512, 4514, 4515, 4523; DISC-06…08, HOST-03).
 *
 * Both on `lib/asn1`, bounded in time, octets and elements; the client asks no private targets.
 * Not here: authentication, writing, StartTLS, referrals, paging, browsing: a search has to name the address
 * it wants. Called by `lib/direct` (client), the server and the sandbox world (responder).
 */
export { createLdapClient, type LdapAnswer, type LdapAttempt, type LdapClient } from './client.ts';
export { createLdapResponder } from './responder.ts';
export { findLdapTargets, type LdapTarget } from './targets.ts';
