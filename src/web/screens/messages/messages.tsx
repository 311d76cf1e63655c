/**
 * The screen of messages: the list, and one message.
 * Used by `web/app/screens.tsx`; `message-path.ts` also other screens.
 * Begin with this file.
 */
import type { ReactNode } from 'react';
import { useParams } from 'wouter';
import { MessageList } from './message-list.tsx';
import { MessageView } from './message-view.tsx';
import { idFromPath } from './message-path.ts';

/** The list, or one message of it. */
export function MessagesScreen(): ReactNode {
  const { messageId } = useParams<{ messageId?: string }>();
  if (messageId === undefined) return <MessageList />;
  const id = idFromPath(messageId);
  return <MessageView key={id} messageId={id} />;
}
