import { codedError, type ErrorTable } from '../../core/index.ts';

export const hostingErrors = {
  HOSTING_ADDRESS_UNKNOWN: {
    kind: 'not-found',
    publicMessage: 'The address was not found in the domains of your organization.',
  },
  HOSTING_ADDRESSES_REFUSED: { kind: 'invalid-input' },
  HOSTING_RATE_LIMITED: {
    kind: 'rate-limited',
    publicMessage: 'Too many requests about addresses; retry later, or change several in one request.',
  },
} as const satisfies ErrorTable;

export class HostingError extends codedError(hostingErrors) {}
