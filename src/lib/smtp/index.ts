/**
 * SMTP: a receiving server, a sending client, and the search for a domain's mail hosts
 * (RFC 5321, 1870, 2034, 2920, 3207, 3463, 4954, 6152, 7505).
 *
 * The protocol part comes from `smtp-server` and nodemailer's SMTP connection; acceptance is decided by the
 * handlers. The message's octets pass unchanged in both directions (the client turns bare CR and LF into
 * CRLF). Not here: queues and retries, SMTPUTF8, DSN parameters, relaying. Called by `service/delivery`
 * (client), `app/smtp` and `app/edges` (server) and the sandbox world.
 */
export {
  createSmtpClient,
  sendMail,
  type RejectedRecipient,
  type SendOutcome,
  type SmtpClient,
} from './client.ts';
export type { ClientAuth, ClientTls } from './connection.ts';
export { SmtpError } from './errors.ts';
export {
  requirePublicHosts,
  resolveMailHosts,
  resolveRelay,
  type MailHost,
  type MailHosts,
} from './mail-hosts.ts';
export type { SmtpReply } from './reply.ts';
export type { SmtpMessage } from './handlers.ts';
export { networkOf } from './connection-table.ts';
export { createSmtpServer, type SmtpServer } from './server.ts';
export type { SmtpServerOptions } from './server-options.ts';
