import { countOf } from '../../../core/index.ts';

/**
 * One line about deliveries that an operator wants tried now, or undefined if none waits. `noun` is what is
 * counted.
 */
export function describeRetry(
  noun: 'destination' | 'message',
  { retried, running }: { readonly retried: number; readonly running: number },
): string | undefined {
  const parts = [
    ...(retried === 0 ? [] : [`${countOf(retried, noun)} will be retried now`]),
    ...(running === 0 ? [] : [`${countOf(running, noun)} with an attempt in progress`]),
  ];
  return parts.length === 0 ? undefined : parts.join('; ');
}
