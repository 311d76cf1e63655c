import { stripComments, type MimeEntity } from '../mime/index.ts';
import { isReport } from './find-report.ts';

/** Why a message must not be answered by an MDN or DSN of any kind. */
export type Unanswered = 'report' | 'empty-return-path' | 'auto-submitted';

/**
 * Tells whether a message must not be answered: it is or carries a report (RFC 8098 §3, MDN-02), its return
 * path is empty (RFC 3834 §2), or a program sent it by itself, as any Auto-Submitted other than `no` says
 * (RFC 3834 §5). Undefined if it may be answered.
 */
export function findUnanswered(message: MimeEntity, mailFrom: string): Unanswered | undefined {
  if (isReport(message)) return 'report';
  const paths = message.headers('return-path').map((value) => stripComments(value).replaceAll(/\s/g, ''));
  if (/^[<>\s]*$/.test(mailFrom) || paths.includes('<>')) return 'empty-return-path';
  const keywords = message
    .headers('auto-submitted')
    .map((value) => stripComments(value).split(';', 1)[0]?.trim().toLowerCase() ?? '');
  return keywords.some((keyword) => keyword !== '' && keyword !== 'no') ? 'auto-submitted' : undefined;
}
