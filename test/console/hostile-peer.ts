import assert from 'node:assert/strict';
import {
  createOutsideZone,
  demoAddress,
  domains,
  type Sandbox,
  type SandboxAuthority,
} from '../../src/app/dev/index.ts';
import { sealMessage } from '../../src/lib/direct/index.ts';
import { readCertificate } from '../../src/lib/pki/index.ts';
import { sendMail } from '../../src/lib/smtp/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../src/lib/values/index.ts';

/** A HISP whose certificate we trust, if its authority is the sandbox's, and whose mail says whatever a test wants. */
export interface HostilePeer {
  readonly address: DirectAddress;
  readonly domain: string;
  /** Seals a plain message to the demo address and hands it in. `inner` needs From, To, Date, Message-ID and MIME-Version. */
  send(inner: string | Uint8Array): Promise<void>;
  /** Seals and hands in the same, whether it is taken or not. */
  offer(inner: string | Uint8Array): Promise<void>;
  /** Hands in what is no Direct message, which is refused. */
  sendRaw(message: string): Promise<void>;
  /** The header fields that every message needs. */
  header(id: string): string;
}

/** Its mail server is at `mailAddress`; it need not exist. */
export async function openHostilePeer(
  { world }: Pick<Sandbox, 'world'>,
  {
    domain,
    mailAddress,
    authority = world.authority,
  }: { readonly domain: string; readonly mailAddress: string; readonly authority?: SandboxAuthority },
): Promise<HostilePeer> {
  const address = parseDirectAddress(`mallory@${domain}`);
  const pair = await authority.issue({ domain });
  world.publish(
    createOutsideZone({ domain, mailHost: `mx.${domain}`, mailAddress, certificate: pair.certificate }),
  );
  const [own] = await world.hisp.trust.findPublished(domains.own);
  assert.ok(own);
  const certificates = [readCertificate(own)];
  const handIn = async (message: Uint8Array): Promise<readonly string[]> => {
    const outcome = await sendMail({
      host: '127.0.0.2',
      port: world.smtpPort,
      hostname: `mx.${domain}`,
      mailFrom: address,
      recipients: [demoAddress],
      message,
      timeoutMs: 20_000,
    });
    return outcome.accepted;
  };
  const seal = (inner: string | Uint8Array): Uint8Array =>
    sealMessage({
      message: Buffer.from(inner),
      signers: [pair],
      recipients: [{ address: demoAddress, certificates }],
      at: new Date(),
    }).message;
  return {
    address,
    domain,
    async send(inner) {
      assert.deepEqual(await handIn(seal(inner)), [demoAddress]);
    },
    async offer(inner) {
      await handIn(seal(inner)).catch(() => undefined);
    },
    async sendRaw(message) {
      assert.deepEqual(await handIn(Buffer.from(message.replaceAll(/\r?\n/g, '\r\n'))), []);
    },
    header: (id) =>
      [
        `From: ${address}`,
        `To: ${demoAddress}`,
        `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
        `Message-ID: ${id}`,
        'MIME-Version: 1.0',
        '',
      ].join('\r\n'),
  };
}
