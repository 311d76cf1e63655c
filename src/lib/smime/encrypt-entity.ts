import { base64LinesLength, createBase64Writer } from '../mime/index.ts';
import type { SendingCipher } from './start-encryption.ts';
import { prepareEnvelope, type EncryptOptions } from './encrypt-cms.ts';
import type { EnvelopeRecipient } from './key-transport.ts';
import { piecesOf, type Pieces } from './structure.ts';

export interface EncryptEntityOptions extends EncryptOptions {
  /**
   * Bytes put before the entity's own header fields: the header fields of an outer message, each ended by
   * CRLF.
   */
  readonly prefix?: Uint8Array;
}

/**
 * An application/pkcs7-mime MIME entity, header fields and body, with CRLF line ends (RFC 8551 §3.3, AS-31).
 * The content may come in pieces and is never joined: apart from the result the work takes a fixed amount of
 * memory.
 *
 * Errors: those of `prepareEnvelope`.
 */
export function encryptEntity(
  entity: Uint8Array | Pieces,
  recipients: readonly EnvelopeRecipient[],
  options: EncryptEntityOptions = {},
): Buffer {
  const envelope = prepareEnvelope(piecesOf(entity), recipients, options);
  const prefix = options.prefix ?? new Uint8Array();
  const head = Buffer.from(writeHead(options.contentCipher), 'latin1');
  // Not from the pool that Node cuts small buffers from: the result may be passed to another thread.
  const target = Buffer.allocUnsafeSlow(prefix.length + head.length + base64LinesLength(envelope.sizeBytes));
  target.set(prefix);
  target.set(head, prefix.length);
  const writer = createBase64Writer(target, prefix.length + head.length);
  envelope.write(writer.write);
  writer.finish();
  return target;
}

function writeHead(cipher: SendingCipher | undefined): string {
  const smimeType = cipher?.endsWith('gcm') === true ? 'authEnveloped-data' : 'enveloped-data';
  return (
    `Content-Type: application/pkcs7-mime; smime-type=${smimeType}; name=smime.p7m\r\n` +
    'Content-Transfer-Encoding: base64\r\n' +
    'Content-Disposition: attachment; filename=smime.p7m\r\n\r\n'
  );
}
