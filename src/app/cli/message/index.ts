/**
 * Operators' commands for messages: `message`, `queue`, `inbound`.
 * Used by `app/cli`.
 * Begin with `message-commands.ts`; `with-messaging.ts` opens the installation for all of them.
 */
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { addInbound } from './inbound-commands.ts';
import { addMessage } from './message-commands.ts';
import { addQueue } from './queue-commands.ts';

export function addMessageCommands(program: Command, context: CliContext): void {
  addMessage(program, context);
  addQueue(program, context);
  addInbound(program, context);
}
