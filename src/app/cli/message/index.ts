/**
 * Operators' commands for messages: `message`, `queue`, `inbound`.
 * Used by `app/cli`.
 * Begin with `message-commands.ts`; `with-messaging.ts` opens the installation for all of them.
 */
export { addInbound } from './inbound-commands.ts';
export { addMessage } from './message-commands.ts';
export { addQueue } from './queue-commands.ts';
