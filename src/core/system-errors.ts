/** The limits of this process and its machine: open files, memory, buffers of the network. */
const shortageCodes: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/**
 * True for the system's code of a file or socket that this machine had no room for. Such an error says
 * nothing about the other side.
 */
export function isShortageCode(code: unknown): boolean {
  return shortageCodes.has(code);
}

/** True for a code such as `DNS_NO_SOCKET`: the system gave this process no socket, so nobody was asked. */
export function isNoSocketCode(code: string): boolean {
  return code.endsWith('_NO_SOCKET');
}
