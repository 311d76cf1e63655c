import type { Command } from 'commander';
import { systemClock } from '../../../core/index.ts';
import { createGuardedFetch, type GuardedFetch } from '../../../lib/fetch/index.ts';
import { createIssuerFetcher, createRevocationChecker, type TrustContext } from '../../../lib/pki/index.ts';
import { readTime, timeForms } from '../read-time.ts';
import { collect, readCertificateFiles } from './files.ts';

export interface TrustOptions {
  readonly anchor?: readonly string[];
  readonly intermediate?: readonly string[];
  readonly at?: Date;
  readonly offline?: boolean;
  readonly allowPrivate?: boolean;
  readonly hardFail?: boolean;
  readonly allowSha1Certificates?: boolean;
}

export function addTrustOptions(command: Command): Command {
  return command
    .option('--anchor <file>', 'a trust anchor; may be repeated; without one nothing is trusted', collect)
    .option('--intermediate <file>', 'an intermediate certificate to try; may be repeated', collect)
    .option('--at <time>', `validate for this time instead of now: ${timeForms()}`, readTime)
    .option('--offline', 'fetch neither missing issuers (AIA) nor CRLs')
    .option('--allow-private', 'allow fetches from private and loopback addresses')
    .option('--hard-fail', 'refuse certificates without a usable CRL')
    .option('--allow-sha1-certificates', 'accept certificates signed with SHA-1');
}

export type ToolTrust = Omit<TrustContext, 'address'>;

/** The trust settings from the options, with network access unless they forbid it. */
export function readTrust(options: TrustOptions): ToolTrust {
  return {
    at: options.at ?? systemClock.now(),
    anchors: readCertificateFiles(options.anchor),
    candidates: readCertificateFiles(options.intermediate),
    policy: {
      revocation: options.hardFail === true ? 'hard-fail' : 'soft-fail',
      allowSha1Certificates: options.allowSha1Certificates === true,
    },
    ...(options.offline !== true && networkOf(options.allowPrivate === true)),
  };
}

type Network = Required<Pick<ToolTrust, 'fetchIssuers' | 'checkRevocation'>>;

/**
 * One of each kind for the whole process, so that messages share the cache of fetched certificates and CRLs.
 */
const networks = new Map<boolean, Network>();

function networkOf(allowPrivate: boolean): Network {
  const known = networks.get(allowPrivate);
  if (known !== undefined) return known;
  const fetch = createToolFetch({ allowPrivate });
  const network = {
    fetchIssuers: createIssuerFetcher({ fetch, now: () => systemClock.now() }),
    checkRevocation: createRevocationChecker({ fetch }),
  };
  networks.set(allowPrivate, network);
  return network;
}

export function createToolFetch({ allowPrivate = false }: TrustOptions): GuardedFetch {
  return createGuardedFetch({ allowPrivate, timeoutMs: 10_000, maxBytes: 32 * 1024 * 1024, maxRedirects: 3 });
}
