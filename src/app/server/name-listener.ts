import { errorText } from '../../core/index.ts';
import { PlatformError } from '../../platform/index.ts';

/** An address to listen on, and the settings that it comes from. */
export interface NamedListener {
  readonly host: string;
  readonly port: number;
  readonly hostSetting: string;
  readonly portSetting: string;
}

/**
 * Runs what opens a listener. An error of the system becomes PLATFORM_CONFIG_INVALID with the settings of the
 * listener: the operator has up to seven of them, and the system names only the port.
 */
export async function namingListener<Result>(
  listener: NamedListener,
  open: () => Promise<Result>,
): Promise<Result> {
  try {
    return await open();
  } catch (error) {
    const fault = describeFault(error, listener);
    if (fault === undefined) throw error;
    const [field, detail] = fault;
    throw new PlatformError('PLATFORM_CONFIG_INVALID', `The server is not started:\n  ${field}: ${detail}`, {
      cause: error,
      problems: [{ field, reason: 'invalid', detail: `${field}: ${detail}` }],
    });
  }
}

function describeFault(
  error: unknown,
  { host, port, hostSetting, portSetting }: NamedListener,
): readonly [field: string, detail: string] | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined;
  switch (error.code) {
    case 'EADDRINUSE':
      return [
        portSetting,
        `another program listens on port ${port} of ${host}. Stop it, or set another port.`,
      ];
    case 'EACCES':
      return [
        portSetting,
        `no permission to listen on port ${port}. Ports below 1024 need the capability CAP_NET_BIND_SERVICE.`,
      ];
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return [hostSetting, `${host} is not an address of this machine.`];
    default:
      return [portSetting, `cannot listen on port ${port} of ${host}: ${errorText(error)}`];
  }
}

/** The listener of a section whose settings are called `host` and `port`. */
export function listenerOf(
  section: 'http' | 'smtp' | 'dns' | 'ldap' | 'console',
  { host, port }: { readonly host: string; readonly port: number },
): NamedListener {
  return { host, port, hostSetting: `${section}.host`, portSetting: `${section}.port` };
}
