import type { EventTable, Emit } from '../../platform/index.ts';

/** Events counted at this edge; labels are few and have few values. */
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
  refused: {
    counter: 'openhisp_http_refused_total',
    help: 'Requests refused because a limit was reached, of their caller or of all callers together.',
    labels: ['reason'],
    level: 'warn',
    text: 'request refused: limit reached',
  },
  evicted: {
    counter: 'openhisp_http_evicted_total',
    help: 'Unfinished requests without a valid token that were ended, so that an address with fewer found room.',
    level: 'warn',
    text: 'request ended: its address has the most unfinished ones, and there was no room',
  },
  slowUpload: {
    counter: 'openhisp_http_slow_uploads_total',
    help: 'Requests ended because their body arrived too slowly.',
    level: 'warn',
    text: 'request ended: its body arrived too slowly',
  },
  slowReader: {
    counter: 'openhisp_http_slow_readers_total',
    help: 'Connections closed because their answer was not taken in time.',
    level: 'warn',
    text: 'connection closed: its answer was not taken in time',
  },
} as const satisfies EventTable;

export type HttpEmit = Emit<typeof httpEvents>;
