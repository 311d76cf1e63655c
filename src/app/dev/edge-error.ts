/** An error response of a HISP. */
export class EdgeError extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(text: string, status: number, body: unknown) {
    super(text);
    this.name = 'EdgeError';
    this.status = status;
    this.body = body;
  }
}

export function createClientError(method: string, path: string, status: number, body: unknown): EdgeError {
  return new EdgeError(`${method} ${path} was answered ${status}`, status, body);
}
