import type { AddressCheck, InboxPage, SentMessageStatus } from '../../../service/messaging/index.ts';
import type { DeadLetterNotification, Webhook } from '../../../service/webhook/index.ts';

/** Converts the services' results to the names on the wire; no other code uses these names. */
export function formatStatus(message: SentMessageStatus) {
  return {
    messageId: message.messageId,
    messageStatus: message.status,
    fromDirectAddress: message.sender,
    acceptedTime: message.acceptedAt.toISOString(),
    xdm: message.isXdm,
    asmEnabled: message.isAsmEnabled,
    requestFinalDelivery: message.requestsFinalDelivery,
    result: message.recipients.map((recipient) => ({
      toDirectAddress: recipient.address,
      status: recipient.state,
      statusTime: recipient.at.toISOString(),
      final: recipient.isFinal,
      reason: recipient.reason,
      statusCode: recipient.statusCode,
      statusText: recipient.text,
      ...(recipient.state === 'queued' && { attempts: recipient.attempts }),
      ...(recipient.nextAttemptAt !== undefined && {
        nextAttemptTime: recipient.nextAttemptAt.toISOString(),
      }),
      history: recipient.history.map(({ event, time, status, isLate, reason, statusCode, diagnostic }) => ({
        event,
        time: time.toISOString(),
        status,
        late: isLate,
        reason,
        statusCode,
        diagnostic,
      })),
    })),
  };
}

export function formatInbox({ messages, nextCursor }: InboxPage) {
  return {
    status: 'OK' as const,
    result: messages.map((message) => ({
      messageId: message.messageId,
      fromDirectAddress: message.sender,
      toDirectAddress: message.recipient,
      ...(message.forwardedFrom.length === 0 ? {} : { forwardedFrom: [...message.forwardedFrom] }),
      receivedTime: message.receivedAt.toISOString(),
      attachmentCount: message.attachmentCount,
      sizeBytes: message.sizeBytes,
    })),
    ...(nextCursor === undefined ? {} : { nextCursor }),
  };
}

export function formatCheck(check: AddressCheck) {
  return {
    directAddress: check.text,
    syntax: check.isWellFormed,
    certificate: check.hasCertificate ?? null,
    trusted: check.isTrusted ?? null,
    listed: check.isListed ?? null,
    reason: check.reason,
    statusCode: check.statusCode,
    ...(check.verification !== undefined && { verification: check.verification }),
  };
}

export function formatWebhook(webhook: Webhook) {
  return {
    id: webhook.id,
    kind: webhook.kind,
    url: webhook.url,
    description: webhook.description,
    eventTypes: [...webhook.eventTypes],
    xdm: webhook.isXdm,
    enabled: webhook.isEnabled,
    disabledReason: webhook.disabledReason,
    basicAuth: webhook.hasBasicAuth,
    ...(webhook.failingSince === undefined ? {} : { failingSince: webhook.failingSince.toISOString() }),
    createdTime: webhook.createdAt.toISOString(),
  };
}

export function formatDeadLetter(deadLetter: DeadLetterNotification) {
  return {
    eventId: deadLetter.eventId,
    eventType: deadLetter.eventType,
    messageId: deadLetter.messageId,
    attempts: deadLetter.attempts,
    ...(deadLetter.lastStatus === undefined ? {} : { lastStatus: deadLetter.lastStatus }),
    lastError: deadLetter.lastError,
    createdTime: deadLetter.createdAt.toISOString(),
  };
}
