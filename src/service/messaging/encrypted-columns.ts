import type { EncryptedColumn } from '../../platform/index.ts';
import { evidenceContext } from './evidence/keep-mdn.ts';
import { encryptionContext as spoolContext } from './inbound/spool-mail.ts';
import { inboxContext, sentContext } from './tables.ts';

/** The columns that the vault encrypts. */
export const messagingEncryptedColumns: readonly EncryptedColumn[] = [
  { table: 'message', key: 'id', column: 'sealed_details', context: (id) => `message:${id}` },
  { table: 'inbound_mail', key: 'id', column: 'sealed_mail', context: spoolContext },
  { table: 'inbox_message', key: 'id', column: 'sealed_message', context: inboxContext },
  { table: 'sent_message', key: 'message_id', column: 'sealed_message', context: sentContext },
  { table: 'mdn_evidence', key: 'id', column: 'sealed_mdn', context: evidenceContext },
];
