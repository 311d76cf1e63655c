/**
 * The SMTP edge: takes mail from other HISPs. Before the 250 it is durable: processed and stored, or spooled.
 *
 * Standards: RFC 5321 through `lib/smtp`; EDGE-04, EDGE-08, EDGE-09. The fate of the mail is decided by the
 * messaging service. Called by the composition root.
 */
export { startSmtpListener, type SmtpListenerOptions } from './listen.ts';
