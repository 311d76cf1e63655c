import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { createSmtpClient, type ClientAuth, type ClientTls, type SmtpClient } from '../../lib/smtp/index.ts';
import { readSecretFile, useConfiguredFile, type Config } from '../../platform/index.ts';

/** Outgoing mail: to each destination's own servers, or to the configured relay. */
export interface OutgoingMail {
  readonly smtp: SmtpClient;
  readonly port: number;
  readonly relayHost?: string;
}

/** Throws PLATFORM_CONFIG_INVALID if a file of the relay cannot be used. */
export function createOutgoingMail({ smtp: settings }: Config): OutgoingMail {
  const { hostname, timeoutMs, messageReplyTimeoutMs, peerPort, relayHost, relayPort } = settings;
  const timeouts = { timeoutMs, messageReplyTimeoutMs };
  if (relayHost === undefined) return { smtp: createSmtpClient({ hostname, ...timeouts }), port: peerPort };
  const auth = readRelayAuth(settings);
  const smtp = createSmtpClient({
    hostname,
    ...timeouts,
    tls: readRelayTls(settings),
    ...(auth && { auth }),
  });
  return { smtp, port: relayPort, relayHost };
}

const tlsModes = { starttls: 'required', implicit: 'implicit', none: 'never' } as const;

function readRelayTls({ relayHost, relayTls, relayCaFile }: Config['smtp']): ClientTls {
  const ca =
    relayCaFile === undefined
      ? undefined
      : useConfiguredFile('smtp.relayCaFile', relayCaFile, (bytes) => {
          createSecureContext({ ca: bytes });
          return bytes.toString();
        });
  return {
    mode: tlsModes[relayTls as keyof typeof tlsModes],
    // For an address the client checks the certificate against the address itself.
    ...(relayHost !== undefined && isIP(relayHost) === 0 && { serverName: relayHost }),
    ...(ca !== undefined && { ca }),
  };
}

function readRelayAuth(settings: Config['smtp']): ClientAuth | undefined {
  const { relayUser: user, relayPassword, relayPasswordFile } = settings;
  if (user === undefined) return undefined;
  const password =
    relayPasswordFile === undefined
      ? relayPassword
      : readSecretFile('smtp.relayPasswordFile', relayPasswordFile);
  return { user, password: password ?? '' };
}
