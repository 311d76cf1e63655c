import type { InputFile } from './open-input.ts';

export type ImportPhase = 'downloading' | 'reading' | 'merging' | 'indexing' | 'activating' | 'done';

export interface ImportProgress {
  readonly phase: ImportPhase;
  readonly rowsRead: number;
  readonly bytesRead: number;
  /** Absent for standard input. */
  readonly totalBytes?: number;
}

export type ProgressListener = (progress: ImportProgress) => void;

export interface ProgressMeter {
  readonly onBytes: (count: number) => void;
  rows(count: number): void;
  enter(phase: ImportPhase): void;
}

/** Adds up the bytes read and calls the listener after each portion and at each new phase. */
export function createProgress(
  files: readonly Pick<InputFile, 'sizeBytes'>[],
  listener: ProgressListener | undefined,
): ProgressMeter {
  let phase: ImportPhase = 'reading';
  let rowsRead = 0;
  let bytesRead = 0;
  const isSized = files.every((file) => file.sizeBytes !== undefined);
  const totalBytes = files.reduce((sum, file) => sum + (file.sizeBytes ?? 0), 0);
  const tell = (): void => listener?.({ phase, rowsRead, bytesRead, ...(isSized ? { totalBytes } : {}) });
  return {
    onBytes: (count) => {
      bytesRead += count;
    },
    rows: (count) => {
      rowsRead += count;
      tell();
    },
    enter: (next) => {
      phase = next;
      tell();
    },
  };
}
