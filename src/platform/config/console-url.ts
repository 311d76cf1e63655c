import type { Config } from './schema.ts';

/** Where the console listens if nothing is set. */
export const usualConsolePort = 8090;

/** The address that browsers use for the console. Passkeys cannot belong to an IP address, so that the usual one has a name. */
export function consoleUrlOf(
  { publicUrl, port }: Config['console'],
  listeningPort = port ?? usualConsolePort,
): string {
  return publicUrl ?? `http://localhost:${listeningPort}`;
}
