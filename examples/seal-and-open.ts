/** Seals a message as its sender's HISP does (wrap, sign, encrypt), and opens it as the recipient's does. */
import { openMessage, sealMessage, verifySender } from '../src/lib/direct/index.ts';
import { buildMessage, readText, parseEntity } from '../src/lib/mime/index.ts';
import { parseDirectAddress } from '../src/lib/values/index.ts';
import { makeAuthority, makeIdentity } from './support.ts';

const alice = parseDirectAddress('alice@direct.alpha.example');
const bob = parseDirectAddress('bob@direct.beta.example');
const authority = await makeAuthority('Example root');
const [sender, recipient] = [await makeIdentity(alice, authority), await makeIdentity(bob, authority)];
const at = new Date();

const sealed = sealMessage({
  message: buildMessage({
    from: alice,
    to: [bob],
    date: at,
    messageId: '<1@direct.alpha.example>',
    subject: 'Referral',
    text: 'Please see the patient.',
  }),
  signers: [sender],
  // Of a real recipient: the certificates of the paths that resolveRecipient validated (discover-recipient.ts).
  recipients: [{ address: bob, certificates: [recipient.certificate] }],
  at,
});
console.log(`on the wire: ${parseEntity(sealed.message).contentType.mediaType}, subject hidden`);

const opened = openMessage({ message: sealed.message, keys: [recipient] });
// Until the sender is verified, nothing of the message may be used.
const verified = await verifySender(
  opened,
  { mailFrom: alice, recipients: [bob] },
  { at, anchors: [authority.certificate], policy: { revocation: 'off' } },
);
const inner = parseEntity(opened.inner);
console.log(`from ${verified.sender}, ${opened.algorithms.contentAlgorithm}`);
console.log(`${inner.header('subject')?.trim()}: ${readText(inner).trim()}`);
