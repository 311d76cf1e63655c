import type { AttachmentInput } from '../../lib/mime/index.ts';
import type { ComposeInput } from './compose-message.ts';

export async function packAttachments(_input: ComposeInput): Promise<readonly AttachmentInput[]> {
  throw new TypeError('XDM packing comes with lib/xdm');
}
