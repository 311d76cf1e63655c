import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FieldProblem } from '../../core/index.ts';
import { buildErrorEnvelope, jsonMediaType } from './envelope.ts';

const refusals: Readonly<Record<string, readonly [status: number, problem: FieldProblem]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    { field: '', reason: 'too_slow', detail: 'The request arrived too slowly.' },
  ],
  HPE_HEADER_OVERFLOW: [
    431,
    {
      field: '',
      reason: 'request_headers_too_large',
      detail: 'The request headers are larger than 16 KiB.',
    },
  ],
};
const malformed: readonly [number, FieldProblem] = [
  400,
  { field: '', reason: 'invalid', detail: 'The request is not valid HTTP.' },
];

/**
 * Answers requests that Node's HTTP parser refuses, before there is a path, with the error envelope, and
 * closes the connection.
 */
export function refuseUnparsed(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const [status, problem] = refusals[error.code ?? ''] ?? malformed;
  const requestId = randomUUID();
  const body = JSON.stringify(buildErrorEnvelope(status, [problem], requestId));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${jsonMediaType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroy(error);
}
