/** Writes the notification that a message was processed, and reads it as the sender of that message does. */
import { buildMdn, readMdnOrDsn } from '../src/lib/mdn/index.ts';
import { parseEntity } from '../src/lib/mime/index.ts';

const mdn = buildMdn({
  disposition: 'processed',
  finalRecipient: 'bob@direct.beta.example',
  originalSender: 'alice@direct.alpha.example',
  originalMessageId: '<1@direct.alpha.example>',
  reportingUa: { host: 'hisp.beta.example', product: 'example' },
  messageId: '<2@direct.beta.example>',
  date: new Date(),
});

// On its way it is sealed like any message; what it says counts only once its signer is verified (seal-and-open.ts).
const read = readMdnOrDsn(parseEntity(mdn));
if (read?.kind !== 'mdn') throw new Error('Not an MDN.');
console.log(`${read.finalRecipient}: ${read.disposition}, of ${read.originalMessageIds.join(' ')}`);
