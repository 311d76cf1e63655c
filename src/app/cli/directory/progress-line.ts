import type { ImportProgress } from '../../../service/directory/index.ts';
import type { CliContext } from '../context.ts';

/** Redraws of the bar on a terminal; elsewhere a plain line now and then. */
const redrawMs = 100;
const lineMs = 5000;
const barWidth = 30;

/** Shows how far an import is: a bar on a terminal, plain lines elsewhere, both on standard error. */
export function startProgressLine(context: Pick<CliContext, 'note' | 'isTerminal'>): {
  show(progress: ImportProgress): void;
  end(): void;
} {
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let phase = '';
  let isLineOpen = false;
  return {
    show(progress) {
      const nowMs = performance.now();
      const isDue = nowMs - shownAtMs >= (context.isTerminal ? redrawMs : lineMs) && nowMs > 0;
      if (!isDue && progress.phase === phase) return;
      shownAtMs = nowMs;
      phase = progress.phase;
      if (context.isTerminal) {
        process.stderr.write(`\r\u001b[2K${formatBar(progress)}`);
        isLineOpen = true;
      } else {
        context.note(formatLine(progress));
      }
    },
    end() {
      if (isLineOpen) process.stderr.write('\n');
      isLineOpen = false;
    },
  };
}

function shareOf({ bytesRead, totalBytes }: ImportProgress): number | undefined {
  return totalBytes === undefined || totalBytes === 0 ? undefined : Math.min(1, bytesRead / totalBytes);
}

function formatBar(progress: ImportProgress): string {
  const share = shareOf(progress);
  if (share === undefined) return formatLine(progress);
  const filled = Math.round(share * barWidth);
  return `[${'#'.repeat(filled)}${' '.repeat(barWidth - filled)}] ${formatLine(progress)}`;
}

function formatLine(progress: ImportProgress): string {
  const share = shareOf(progress);
  const percent = share === undefined ? '' : ` (${Math.floor(share * 100)} %)`;
  if (progress.phase === 'downloading') {
    const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);
    return `downloading: ${megabytes(progress.bytesRead)} of ${megabytes(progress.totalBytes ?? 0)} MB${percent}`;
  }
  return `${progress.phase}: ${progress.rowsRead} rows${progress.phase === 'reading' ? percent : ''}`;
}
