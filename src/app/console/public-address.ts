import { consoleUrlOf, type Config } from '../../platform/index.ts';

/** The address of the console in the browser. */
export interface PublicAddress {
  /** `https://console.example.org`, without a trailing slash. */
  readonly origin: string;
  /** Host name with port, as in the Host header. */
  readonly host: string;
  /** Host name without port: the relying party id of passkeys. */
  readonly hostname: string;
  readonly isHttps: boolean;
}

export function publicAddressOf(settings: Config['console'], port: number): PublicAddress {
  const { origin, host, hostname, protocol } = new URL(consoleUrlOf(settings, port));
  return { origin, host, hostname, isHttps: protocol === 'https:' };
}
