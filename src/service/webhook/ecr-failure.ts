import type { MessageEvent } from './events.ts';

/**
 * A notification in the form that eCRNow takes at `/api/receiveReportabilityResponse`: a response of the type
 * MDN is a failure, and the correlation id is what its Message-ID has before the `@`.
 */
export interface EcrFailure {
  readonly correlationId: string;
  readonly body: { readonly responseType: 'MDN'; readonly rrXml: string };
}

/** Of a message that failed or expired; it says nothing of a patient. */
export function buildEcrFailure({
  eventType,
  toDirectAddress,
  statusCode,
  statusText,
  sentByEdge,
}: MessageEvent): EcrFailure {
  const fate = eventType === 'message.expired' ? 'may not have arrived' : 'was not delivered';
  return {
    correlationId: /^<([^@<>\s]{1,200})@/.exec(sentByEdge?.wireId ?? '')?.[1] ?? '',
    body: {
      responseType: 'MDN',
      rrXml: `The message to ${toDirectAddress} ${fate}: ${statusText} (${statusCode})`,
    },
  };
}
