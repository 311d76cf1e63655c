import type { MessageUrn } from '../../../lib/values/index.ts';
import type { ServiceIdentity } from '../identity.ts';
import type { SendRequest } from '../request/read-send-request.ts';

/** The input of composing a message. */
export interface ComposeInput {
  readonly request: SendRequest;
  readonly messageId: MessageUrn;
  /** `<uuid@sender-domain>`. */
  readonly wireId: string;
  readonly requestsFinalDelivery: boolean;
  readonly identity: ServiceIdentity;
  readonly at: Date;
}
