import { errorText } from '../../core/index.ts';
import { askTime } from './ask-time.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { findingsOf, type Finding } from './findings.ts';

const warningMs = 5_000;
const errorMs = 60_000;

/** This machine's clock, compared with a time server. */
export async function examineClock({
  clock,
  dns,
  timeServer,
  timeoutMs,
}: DoctorOptions): Promise<readonly Finding[]> {
  const finding = findingsOf('clock', timeServer.host);
  try {
    const offsetMs = await askTime({ ...timeServer, clock, dns, timeoutMs });
    const seconds = `${(Math.abs(offsetMs) / 1000).toFixed(1)} s ${offsetMs > 0 ? 'slow' : 'fast'}`;
    const advice =
      'Synchronize it by NTP (systemd-timesyncd or chrony): certificates, tokens and windows depend on it.';
    if (Math.abs(offsetMs) > errorMs) return [finding.error(`The clock is ${seconds}.`, advice)];
    if (Math.abs(offsetMs) > warningMs) return [finding.warning(`The clock is ${seconds}.`, advice)];
    return [finding.ok(`The clock is accurate to ${(Math.abs(offsetMs) / 1000).toFixed(1)} s.`)];
  } catch (error) {
    return [
      finding.note(
        `The clock could not be compared: ${errorText(error)}.`,
        'Name a time server that can be reached with --time-server, or check with timedatectl.',
      ),
    ];
  }
}
