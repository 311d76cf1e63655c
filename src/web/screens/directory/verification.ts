import type { Level, Provider } from '../../../app/console/contract/index.ts';

type VerificationState = NonNullable<Provider['verification']>['state'];

const tones: Readonly<Record<VerificationState, Level>> = {
  trusted: 'ok',
  discoverable: 'warning',
  expired: 'failed',
  'no-certificate': 'failed',
  unreachable: 'warning',
  unverified: 'none',
};

export function verificationTone(state: VerificationState): Level {
  return tones[state];
}
