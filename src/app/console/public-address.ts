import { consoleUrlOf, type Config } from '../../platform/index.ts';

/** Under which address browsers know the console. */
export interface PublicAddress {
  /** `https://console.example.org`, without a slash at the end. */
  readonly origin: string;
  /** Name with port, as the Host header gives it. */
  readonly host: string;
  /** Name without port: what passkeys belong to (the relying party id). */
  readonly hostname: string;
  readonly isHttps: boolean;
}

export function publicAddressOf(settings: Config['console'], port: number): PublicAddress {
  const { origin, host, hostname, protocol } = new URL(consoleUrlOf(settings, port));
  return { origin, host, hostname, isHttps: protocol === 'https:' };
}
