/**
 * IMAP4rev1 over a mailbox of an edge account: reading commands, a session, fetching, searching.
 * Used by `app/edges`.
 * Begin with `imap-session.ts`.
 */
export { serveImap } from './imap-session.ts';
export { createFactsCache } from './fetch.ts';
