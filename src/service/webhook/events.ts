/** Events of which a client can be notified (Decision 0013). */
export const eventTypes = [
  'message.sent',
  'message.processed',
  'message.dispatched',
  'message.failed',
  'message.expired',
  'message.received',
] as const;

export type EventType = (typeof eventTypes)[number];

export function isEventType(value: unknown): value is EventType {
  return eventTypes.some((known) => known === value);
}

/**
 * One thing that happened to one recipient. Addresses, names and status only: never subject, body,
 * attachments or patient fields (HOOK-02). `messageId` is the API's name, `urn:uuid:…`.
 */
export interface MessageEvent {
  readonly clientId: string;
  readonly eventType: EventType;
  readonly at: Date;
  readonly messageId: string;
  readonly fromDirectAddress: string;
  readonly toDirectAddress: string;
  readonly status: string;
  readonly statusCode: string;
  readonly statusText: string;
  /** The edge account that sent it, and the Message-ID by which its software knows it. */
  readonly sentByEdge?: { readonly account: string; readonly wireId: string } | undefined;
}

/** The body as the client gets it; `attempt` is added when it is sent. */
export interface EventPayload {
  readonly eventId: string;
  readonly eventType: EventType;
  readonly eventTime: string;
  readonly messageId: string;
  readonly fromDirectAddress: string;
  readonly toDirectAddress: string;
  readonly status: string;
  readonly statusCode: string;
  readonly statusText: string;
}

export function buildEventPayload(eventId: string, event: MessageEvent): EventPayload {
  return {
    eventId,
    eventType: event.eventType,
    eventTime: event.at.toISOString(),
    messageId: event.messageId,
    fromDirectAddress: event.fromDirectAddress,
    toDirectAddress: event.toDirectAddress,
    status: event.status,
    statusCode: event.statusCode,
    statusText: event.statusText,
  };
}
