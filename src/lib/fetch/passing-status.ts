/** Of a server that has no time for us: Request Timeout, Too Early, Too Many Requests. */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

/** True for the HTTP status of a failure that another try may not have. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || passingStatuses.has(status);
}
