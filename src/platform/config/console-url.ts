import type { Config } from './schema.ts';

/** Default port of the console. */
export const usualConsolePort = 8090;

/**
 * The address that browsers use for the console. Passkeys cannot belong to an IP address, so that the usual
 * one has a name.
 */
export function consoleUrlOf(
  { publicUrl, port }: Config['console'],
  listeningPort = port ?? usualConsolePort,
): string {
  return publicUrl ?? `http://localhost:${listeningPort}`;
}
