import { X509Certificate } from 'node:crypto';
import type { Clock, Log } from '../../core/index.ts';
import { readTlsFiles, type Config, type Metrics } from '../../platform/index.ts';
import {
  describeAnchorWarning,
  expiryWarningDays,
  type AnchorWarning,
  type Trust,
} from '../../service/trust/index.ts';
import { createDailyWatch, type Warning, type Watch } from './daily-warnings.ts';

const tlsSections = ['http', 'smtp', 'console', 'edge'] as const;
type TlsSection = (typeof tlsSections)[number];

const dayMs = 86_400_000;

/** The TLS certificate of a section; undefined without one. Throws PLATFORM_CONFIG_INVALID. */
export function readTlsCertificate(config: Config, section: TlsSection): X509Certificate | undefined {
  const files = readTlsFiles(section, config[section]);
  return files === undefined ? undefined : new X509Certificate(files.cert);
}

/**
 * Notifies operators of anchors and TLS certificates that expire within 30 days or have expired, before peers
 * and clients fail.
 */
export function createCertificateWatch({
  config,
  trust,
  clock,
  log,
  metrics,
}: {
  readonly config: Config;
  readonly trust: Pick<Trust, 'findAnchorWarnings'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): Watch {
  const tlsDays = metrics.gauge({
    name: 'openhisp_tls_expiry_days',
    help: 'Days until the TLS certificate of a listener (http, smtp, console, edge) expires; negative after that.',
    labels: ['listener'],
  });
  const warned = metrics.gauge({
    name: 'openhisp_anchor_warnings',
    help: 'Anchors, except those of bundles, that have expired or expire within 30 days.',
    labels: ['problem'],
  });

  function examineTls(): Warning[] {
    return tlsSections.flatMap((section): Warning[] => {
      try {
        const certificate = readTlsCertificate(config, section);
        if (certificate === undefined) return [];
        const end = new Date(certificate.validTo);
        const days = (end.getTime() - clock.now().getTime()) / dayMs;
        tlsDays.set(days, { listener: section });
        if (days > expiryWarningDays) return [];
        const verb = days < 0 ? 'expired' : 'expires';
        const detail = `The certificate of ${section}.tlsCertificateFile ${verb} on ${end.toISOString().slice(0, 10)}.`;
        return [warningOf('tls', detail, `${section} ${verb}`, days < 0)];
      } catch {
        // The reason names paths, which the readers of the readiness details need not know; the log has it.
        const detail = `The files of ${section}.tlsKeyFile and tlsCertificateFile cannot be used; the next start fails.`;
        return [warningOf('tls', detail, `${section} unusable`, true)];
      }
    });
  }

  return createDailyWatch({
    clock,
    log,
    part: 'anchors',
    what: 'certificates',
    async find() {
      const anchors = await trust.findAnchorWarnings();
      for (const problem of ['expired', 'expires-soon'] as const)
        warned.set(anchors.filter((one) => one.problem === problem).length, { problem });
      return [...examineTls(), ...anchors.map(anchorWarning)];
    },
  });
}

function anchorWarning(anchor: AnchorWarning): Warning {
  const { fingerprint, problem } = anchor;
  return warningOf(
    'anchors',
    describeAnchorWarning(anchor),
    `${fingerprint} ${problem}`,
    problem === 'expired',
  );
}

function warningOf(part: string, detail: string, name: string, isOver: boolean): Warning {
  return { part, detail, name, level: isOver ? 'error' : 'warn', fields: { part } };
}
