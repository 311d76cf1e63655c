import type { ReactNode } from 'react';
import type { LoadReport } from '../../../app/console/contract/index.ts';
import { StateMark } from '../../components/states.tsx';
import { formatDuration, formatNumber } from '../../components/time.tsx';

/** Line numbers shown per finding. */
const shownLines = 12;

/**
 * The quality report of a load that has read rows: counts as a bar and as text, and each finding with the
 * lines of the file.
 */
export function LoadReportView({ report }: { readonly report: LoadReport }): ReactNode {
  const parts = [
    { name: 'added', count: report.added },
    { name: 'changed', count: report.changed },
    { name: 'unchanged', count: report.unchanged },
    { name: 'skipped', count: report.skipped },
    { name: 'refused', count: report.refusedRows },
  ].filter(({ count }) => count > 0);
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  return (
    <div className="load-report">
      {total > 0 && (
        <div className="load-bar" aria-hidden="true">
          {parts.map(({ name, count }) => (
            <span key={name} data-part={name} style={{ inlineSize: `${(count / total) * 100}%` }} />
          ))}
        </div>
      )}
      <ul className="load-counts">
        <li>
          <b>{formatNumber(report.rowsRead)}</b> rows read in {formatDuration(report.seconds * 1000)}
        </li>
        {parts.map(({ name, count }) => (
          <li key={name} data-part={name}>
            <b>{formatNumber(count)}</b> {name}
          </li>
        ))}
        {report.removed > 0 && (
          <li>
            <b>{formatNumber(report.removed)}</b> removed
          </li>
        )}
      </ul>
      {report.findings.length === 0 && report.failure === '' && (
        <p>
          <StateMark tone="ok">Nothing to report: no row was refused and none has a warning.</StateMark>
        </p>
      )}
      {report.findings.length > 0 && (
        <div className="table-frame">
          <table>
            <thead>
              <tr>
                <th scope="col">Finding</th>
                <th scope="col" data-align="end">
                  Rows
                </th>
                <th scope="col">Lines</th>
              </tr>
            </thead>
            <tbody>
              {report.findings.map(({ kind, reason, text, count, lines }) => (
                <tr key={`${kind} ${reason}`}>
                  <th scope="row">
                    <StateMark tone={kind === 'refused' ? 'failed' : 'warning'}>
                      {text === '' ? reason : text}
                    </StateMark>
                  </th>
                  <td data-align="end">{formatNumber(count)}</td>
                  <td className="faint">
                    {lines.slice(0, shownLines).join(', ')}
                    {lines.length > shownLines && ', …'}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
