import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type { AddressFile, AddressReport } from '../../../app/console/contract/index.ts';
import { ask, post } from '../../api/client.ts';
import { refreshTrust } from '../../api/refresh-trust.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { ExportCsv } from '../../components/export-csv.tsx';
import { Field } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { StateMark } from '../../components/states.tsx';
import { formatNumber } from '../../components/time.tsx';

/** Rows shown; the saved report has all. */
const maxShown = 50;

/** Addresses of a CSV file: read and reported first, then stored. */
export function ImportDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [file, setFile] = useState<{ readonly name: string; readonly csv: string }>();
  const [checked, setChecked] = useState<AddressReport>();
  const announce = useAnnounce();
  const queries = useQueryClient();
  const refused = checked?.counts.refused ?? 0;
  const good = (checked?.rows.length ?? 0) - refused;
  const request = (preview: boolean): AddressFile => ({
    csv: file?.csv ?? '',
    preview,
    isRowByRow: refused > 0,
    acceptLoss: checked?.loss !== undefined,
  });
  return (
    <FormDialog<AddressReport>
      key={checked === undefined ? 'check' : 'store'}
      title="Add the addresses of a file"
      action={storeAction(checked)}
      fields={['csv']}
      canSend={file !== undefined && (checked === undefined || good > 0)}
      isWide
      send={() =>
        checked === undefined
          ? ask<AddressReport>('/addresses/import', request(true))
          : post<AddressReport>('/addresses/import', request(false))
      }
      onDone={(report) => {
        if (checked === undefined) return setChecked(report);
        announce({ text: report.sentence });
        void refreshTrust(queries);
        return onClose();
      }}
      onClose={onClose}
    >
      {(problemOf) =>
        checked === undefined ? (
          <>
            <Field
              label="CSV file"
              hint="first line: address, and if you like status, listed, npi, firstName, lastName, organization, specialty, street, city, state, zip, phone"
              error={problemOf('csv')}
            >
              {(tie) => (
                <input
                  {...tie}
                  type="file"
                  accept=".csv,text/csv"
                  onChange={(event) => {
                    const chosen = event.currentTarget.files?.[0];
                    void chosen?.text().then((csv) => setFile({ name: chosen.name, csv }));
                  }}
                />
              )}
            </Field>
            <p className="muted">Nothing is stored yet: the next step shows what each row would do.</p>
            <Command words={['address', 'import', file?.name ?? 'addresses.csv', '--dry-run']} />
          </>
        ) : (
          <>
            <Report report={checked} />
            <Command
              words={[
                'address',
                'import',
                file?.name ?? 'addresses.csv',
                ...(refused > 0 ? ['--row-by-row'] : []),
                ...(checked.loss === undefined ? [] : ['--accept-loss']),
              ]}
            />
          </>
        )
      }
    </FormDialog>
  );
}

function storeAction(checked: AddressReport | undefined): string {
  if (checked === undefined) return 'Check the file';
  if (checked.loss !== undefined) return 'Store and accept the loss';
  return checked.counts.refused > 0 ? 'Store the others' : 'Store';
}

/** Counts, refused rows and warnings, and all rows as a file. */
function Report({ report }: { readonly report: AddressReport }): ReactNode {
  const notable = report.rows.filter(({ text }) => text !== '');
  return (
    <>
      <p>
        <StateMark tone={report.counts.refused > 0 || report.loss !== undefined ? 'warning' : 'ok'}>
          {report.sentence}
        </StateMark>
      </p>
      {notable.length > 0 && (
        <ul className="findings">
          {notable.slice(0, maxShown).map(({ line, address, outcome, text }) => (
            <li key={line}>
              <StateMark tone={outcome === 'refused' ? 'failed' : 'warning'}>
                Line {line}: {address}
              </StateMark>
              <p className="muted">{text}</p>
            </li>
          ))}
        </ul>
      )}
      {notable.length > maxShown && (
        <p className="muted">{formatNumber(notable.length - maxShown)} more are in the report.</p>
      )}
      <ExportCsv
        file="address-report"
        columns={reportColumns}
        readPage={async () => ({ result: report.rows, next: null })}
      />
    </>
  );
}

const reportColumns = (['line', 'address', 'outcome', 'text'] as const).map((name) => ({
  name,
  value: (row: AddressReport['rows'][number]) => row[name],
}));
