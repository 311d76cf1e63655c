import { CodedError } from '../../core/index.ts';
import type { RowGuard } from '../integrity/index.ts';

/** Takes the INTEGRITY_ROW_CHANGED of a row that is left out. */
export type OnDamaged = (error: CodedError) => void;

/** The rows that this service wrote. */
export async function leaveOutDamaged<Row extends { mac: Uint8Array | null }>(
  guard: RowGuard<Row>,
  rows: readonly Row[],
  onDamaged: OnDamaged | undefined,
): Promise<readonly Row[]> {
  const whole: Row[] = [];
  for (const row of rows)
    try {
      whole.push(await guard.check(row));
    } catch (error) {
      if (!(error instanceof CodedError) || error.code !== 'INTEGRITY_ROW_CHANGED') throw error;
      onDamaged?.(error);
    }
  return whole;
}
