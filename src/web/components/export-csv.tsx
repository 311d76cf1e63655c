import { useState, type ReactNode } from 'react';
import type { Page } from '../../app/console/contract/index.ts';
import { useAnnounce } from './announce.tsx';
import { formatNumber } from './time.tsx';
import { toCsv, type CsvColumn } from './to-csv.ts';

export type { CsvColumn };

/** A list that is shown as one: its rows, for {@link ExportCsv}. */
export const wholeList =
  <Row,>(read: () => Promise<{ readonly result: readonly Row[] }>) =>
  async (): Promise<Page<Row>> => ({ result: [...(await read()).result], next: null });

/** A list of more rows is exported by the API or the command line. */
const maxRows = 10_000;

/** Saves what a list shows, all pages of it, as CSV. */
export function ExportCsv<Row>({
  file,
  columns,
  readPage,
}: {
  /** Without its ending. */
  readonly file: string;
  readonly columns: readonly CsvColumn<Row>[];
  readonly readPage: (cursor: string | undefined) => Promise<Page<Row>>;
}): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const announce = useAnnounce();
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const rows: Row[] = [];
      let cursor: string | undefined;
      do {
        // Each page begins where the one before ended.
        // oxlint-disable-next-line no-await-in-loop
        const page: Page<Row> = await readPage(cursor);
        rows.push(...page.result);
        cursor = page.next ?? undefined;
      } while (cursor !== undefined && rows.length < maxRows);
      const url = URL.createObjectURL(new Blob(['\uFEFF', toCsv(columns, rows)], { type: 'text/csv' }));
      const link = Object.assign(document.createElement('a'), { href: url, download: `${file}.csv` });
      link.click();
      URL.revokeObjectURL(url);
      const isCut = cursor !== undefined;
      announce({
        text: `${formatNumber(rows.length)} rows saved${isCut ? ': the first of more. Narrow the list, or read all of it by the admin API' : ''}.`,
      });
    } catch (error) {
      announce({
        text: `Not saved: ${error instanceof Error ? error.message : String(error)}`,
        tone: 'failed',
      });
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" disabled={isBusy} onClick={() => void run()}>
      {isBusy ? 'Reading' : 'Save as CSV'}
    </button>
  );
}
