import type { EventTable, Report } from '../../platform/index.ts';

/** What is worth counting at this edge; labels are few and of few values. */
export const httpEvents = {
  accessRefused: {
    counter: 'openhisp_access_refused_total',
    help: 'Requests whose bearer token was missing, wrong or of another scope.',
    labels: ['code'],
    level: 'info',
    text: 'access refused',
  },
  tokenIssued: {
    counter: 'openhisp_tokens_issued_total',
    help: 'Access tokens issued.',
    level: 'debug',
    text: 'token issued',
  },
  tokenRefused: {
    counter: 'openhisp_tokens_refused_total',
    help: 'Token requests refused, by reason.',
    labels: ['code'],
    level: 'warn',
    text: 'token request refused',
  },
  overloaded: {
    counter: 'openhisp_http_overloaded_total',
    help: 'Requests turned away because the event loop was held up.',
    level: 'warn',
    text: 'request turned away: over capacity',
  },
} as const satisfies EventTable;

export type HttpReport = Report<typeof httpEvents>;
