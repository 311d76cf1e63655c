import { isReport, readMdnOrDsn, requestsFinalDelivery } from '../../src/lib/mdn/index.ts';
import { MimeError, parseEntity } from '../../src/lib/mime/index.ts';
import { main, type FuzzTarget } from './fuzz.ts';

const tokens = [
  '\r\n',
  '\n',
  '\r\n\r\n',
  '--b\r\n',
  '--b--',
  'Disposition: ',
  'Disposition:automatic-action/MDN-sent-automatically;',
  'processed',
  'dispatched',
  'failed',
  '/error',
  ';',
  ',',
  ' ',
  '\t',
  ':',
  'Final-Recipient: rfc822;',
  'Original-Message-ID: <1@a.example>',
  'X-DIRECT-FINAL-DESTINATION-DELIVERY:',
  'Action: failed',
  'Status: 5.1.1',
  'Content-Type: message/disposition-notification',
  'Content-Type: message/delivery-status',
  'report-type=delivery-status',
  'Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true',
  '<',
  '>',
  '(',
  '"',
  '\0',
  '\xff',
];

function run(bytes: Buffer): string {
  try {
    const message = parseEntity(bytes);
    const asks = requestsFinalDelivery(message);
    const read = readMdnOrDsn(message);
    if (read === undefined) return asks ? 'request' : isReport(message) ? 'other report' : 'no MDN';
    for (const id of read.originalMessageIds) {
      if (!/^<[^<>\s]+>$/.test(id)) throw new Error('an identifier has not its form');
    }
    if (read.kind === 'dsn') return `dsn of ${Math.min(read.recipients.length, 3)}`;
    if (read.confirmsFinalDelivery && read.disposition !== 'dispatched')
      throw new Error('confirmed without dispatched');
    return `mdn ${read.disposition ?? 'without disposition'}`;
  } catch (error) {
    if (error instanceof MimeError) return error.code;
    throw error;
  }
}

export const mdnTarget: FuzzTarget = { name: 'mdn', tokens, run };

if (import.meta.main) await main(mdnTarget, process.argv.slice(2));
