import type { Clock } from '../../core/index.ts';
import { PlatformError } from '../../platform/index.ts';

/**
 * Older than this program: a clock that shows it was not set, as on a machine without a battery before its
 * first contact with NTP.
 */
const earliest = new Date('2026-01-01T00:00:00Z');

/**
 * Refuses to serve with a clock that is certainly wrong: mail of others would be rejected for good as dated
 * in the future, and what is sent would be signed with that time. Throws PLATFORM_CONFIG_INVALID; systemd
 * tries again until the clock is set.
 */
export function refuseWrongClock(clock: Clock): void {
  const now = clock.now();
  if (now >= earliest) return;
  throw new PlatformError(
    'PLATFORM_CONFIG_INVALID',
    `The server is not started: this machine's clock shows ${now.toISOString()}, which is before this program was made. ` +
      'Set the clock, and keep it synchronized by NTP (systemd-timesyncd or chrony).',
  );
}
