import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../core/index.ts';
import {
  createAuthority,
  createCrl,
  createKeyPair,
  formatPem,
  issueDirectCertificate,
  issueServerCertificate,
  readCertificate,
  readPrivateKey,
  type Certificate,
} from '../../lib/pki/index.ts';
import type { DirectAddress } from '../../lib/values/index.ts';
import { readKept } from './read-kept.ts';

const dayMs = 86_400_000;

/** A certificate authority of the sandbox, kept in a folder. */
export interface SandboxAuthority {
  /** The word in its URLs and file names, for example `sandbox`. */
  readonly name: string;
  readonly certificate: Certificate;
  /** A new key and a certificate for an address or a domain, valid for two years. */
  issue(boundTo: { readonly address: DirectAddress } | { readonly domain: string }): Promise<IssuedPair>;
  /** A TLS server's key and certificate for this machine, PEM, valid for two years. */
  issueServer(): Promise<{ readonly key: string; readonly certificate: string }>;
  /** The current CRL, DER. Nothing is revoked unless {@link revoke} said so. */
  crl(): Uint8Array;
  revoke(certificate: Certificate): void;
}

export interface IssuedPair {
  readonly certificate: Certificate;
  readonly privateKey: KeyObject;
}

export interface AuthorityOptions {
  readonly folder: string;
  readonly name: string;
  /** Base URL of the authority's certificate and CRL, without a trailing slash. */
  readonly baseUrl: string;
  readonly clock: Clock;
}

/** Opens the authority of a folder, making its key and certificate the first time. */
export async function openAuthority(options: AuthorityOptions): Promise<SandboxAuthority> {
  const { certificate, privateKey } = await loadOrCreate(options);
  const issuer = { certificate, privateKey };
  const revoked = new Map<string, { serialNumber: Uint8Array; revokedAt: Date }>();

  return {
    name: options.name,
    certificate,
    async issue(boundTo) {
      const keys = await createKeyPair();
      const now = options.clock.now().getTime();
      const issued = issueDirectCertificate({
        boundTo,
        publicKey: keys.publicKey,
        issuer,
        notBefore: new Date(now - dayMs),
        notAfter: new Date(now + 730 * dayMs),
        caIssuerUrls: [`${options.baseUrl}/${options.name}.cer`],
        crlUrls: [`${options.baseUrl}/${options.name}.crl`],
      });
      return { certificate: issued, privateKey: keys.privateKey };
    },
    async issueServer() {
      const keys = await createKeyPair();
      const now = options.clock.now().getTime();
      const issued = issueServerCertificate({
        dnsNames: ['localhost'],
        ipAddresses: [Buffer.of(127, 0, 0, 1)],
        publicKey: keys.publicKey,
        issuer,
        notBefore: new Date(now - dayMs),
        notAfter: new Date(now + 730 * dayMs),
      });
      return {
        key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        certificate: formatPem('CERTIFICATE', issued.der),
      };
    },
    crl() {
      const now = options.clock.now();
      return createCrl({
        issuer,
        thisUpdate: new Date(now.getTime() - 60_000),
        nextUpdate: new Date(now.getTime() + dayMs),
        revoked: [...revoked.values()],
      });
    },
    revoke(target) {
      revoked.set(target.serialNumber, {
        serialNumber: target.serialNumberDer,
        revokedAt: options.clock.now(),
      });
    },
  };
}

async function loadOrCreate(options: AuthorityOptions): Promise<IssuedPair> {
  const keyFile = path.join(options.folder, `${options.name}-ca.key`);
  const certificateFile = path.join(options.folder, `${options.name}-ca.cer`);
  if (existsSync(certificateFile)) {
    return {
      certificate: await readKept(certificateFile, readCertificate),
      privateKey: await readKept(keyFile, readPrivateKey),
    };
  }
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const keys = await createKeyPair();
  const now = options.clock.now().getTime();
  const certificate = createAuthority({
    subject: [
      ['O', `openhisp ${options.name}`],
      ['CN', `${options.name} Direct CA`],
    ],
    publicKey: keys.publicKey,
    privateKey: keys.privateKey,
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + 3650 * dayMs),
  });
  await writeFile(keyFile, keys.privateKey.export({ type: 'pkcs8', format: 'der' }), { mode: 0o600 });
  // The certificate comes last: where it lies, the key lies too.
  await writeFile(certificateFile, certificate.der);
  return { certificate, privateKey: keys.privateKey };
}
