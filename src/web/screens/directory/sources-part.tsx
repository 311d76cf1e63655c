import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type {
  DirectoryLoad,
  DirectorySource,
  LoadPage,
  RollbackAnswer,
  SourceList,
  Level,
  VerificationAnswer,
  VerificationRequest,
} from '../../../app/console/contract/index.ts';
import { post, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Facts, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatDuration, formatNumber, Time } from '../../components/time.tsx';
import { LoadReportView } from './load-report.tsx';
import { PhaseBar, phaseTexts, UploadForm } from './upload-form.tsx';

/** The sources in order of precedence, uploads, and the newest loads with their quality reports. */
export function SourcesPart(): ReactNode {
  const mayChange = useMay('directory.change');
  const sources = useQuery<SourceList, ApiError>({
    queryKey: ['directory', 'sources'],
    queryFn: readView('/directory/sources'),
  });
  const loads = useQuery<LoadPage, ApiError>({
    // Not below `directory`: the progress of a load does not change what is found.
    queryKey: ['loads'],
    queryFn: readView('/directory/loads', { limit: 20 }),
  });
  if (sources.data === undefined)
    return sources.error === null ? (
      <LoadingState />
    ) : (
      <ErrorState error={sources.error} onRetry={() => void sources.refetch()} />
    );
  const { result, recordCount, hostedCount } = sources.data;
  return (
    <>
      <Section
        title="Sources"
        note={`${formatNumber(recordCount)} records served, of these ${formatNumber(hostedCount)} hosted addresses. For each field, the first source that has a value is served.`}
      >
        {result.length === 0 ? (
          <EmptyState title="No source yet">
            <p>Load a file below. Until then the directory contains only the hosted addresses.</p>
          </EmptyState>
        ) : (
          <ol className="sources">
            {result.map((source, index) => (
              <SourceItem key={source.name} source={source} place={index + 1} mayChange={mayChange} />
            ))}
          </ol>
        )}
      </Section>
      <Verification list={sources.data} mayChange={mayChange} />
      {mayChange && <UploadForm sources={result.map(({ name }) => name)} />}
      <Section title="Loads" note="newest first">
        {loads.data === undefined && loads.error !== null && (
          <ErrorState error={loads.error} onRetry={() => void loads.refetch()} />
        )}
        {loads.data?.result.length === 0 && <EmptyState title="No loads yet" />}
        {loads.data !== undefined && loads.data.result.length > 0 && <Loads loads={loads.data.result} />}
      </Section>
    </>
  );
}

/** Whether the addresses can receive, and whom we trust: checked over days, domain by domain. */
function Verification({
  list: { verification, verifying },
  mayChange,
}: {
  readonly list: SourceList;
  readonly mayChange: boolean;
}): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const announce = useAnnounce();
  const client = useQueryClient();
  const { isRunning, domains, checkedDomains, dueDomains } = verifying;
  const verb = isRunning ? 'Pause' : 'Start';
  return (
    <Section
      title="Verification"
      note="which addresses can receive, and are trusted"
      actions={
        mayChange && (
          <button type="button" onClick={() => setAsking(true)}>
            {verb}
          </button>
        )
      }
    >
      <p>
        <StateMark tone={isRunning ? 'ok' : 'none'}>{isRunning ? 'Running' : 'Paused'}</StateMark>
        {domains > 0 && (
          <span className="faint">
            {' '}
            {formatNumber(checkedDomains)} of {formatNumber(domains)} domains checked,{' '}
            {formatNumber(dueDomains)} due
          </span>
        )}
      </p>
      {verification !== null && (
        <Facts
          facts={Object.entries(verification).map(([state, count]) => [state, formatNumber(count)] as const)}
        />
      )}
      {isAsking && (
        <Confirm
          title={`${verb} the verification?`}
          action={verb}
          preview={async () => isRunning}
          render={(wasRunning) => (
            <>
              <p>
                {wasRunning
                  ? 'No address is checked until it is started again; the results stay.'
                  : "All addresses of the directory are looked up in the DNS or LDAP of their domains, and their certificates against this HISP's anchors. Nothing is sent to them."}
              </p>
              <Command words={['directory', 'verification', wasRunning ? 'pause' : 'start']} />
            </>
          )}
          onConfirm={async (wasRunning) => {
            const body: VerificationRequest = { isRunning: !wasRunning };
            const { sentence } = await post<VerificationAnswer>('/directory/verification', body);
            announce({ text: sentence });
            await client.invalidateQueries({ queryKey: ['directory'] });
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </Section>
  );
}

function SourceItem({
  source,
  place,
  mayChange,
}: {
  readonly source: DirectorySource;
  readonly place: number;
  readonly mayChange: boolean;
}): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const announce = useAnnounce();
  const client = useQueryClient();
  const { name, exportRight, active, previous, schedule } = source;
  return (
    <li className="source">
      <span className="source-place" aria-label={`Precedence ${place}`}>
        {place}
      </span>
      <div className="source-name">
        <strong>{name}</strong>
        <span className="tag">{exportRight === 'open' ? 'open to export' : 'closed'}</span>
      </div>
      <div className="source-facts">
        {active === null ? (
          <span className="faint">nothing loaded</span>
        ) : (
          <>
            <span>
              <b>{formatNumber(active.recordCount)}</b> {active.recordCount === 1 ? 'record' : 'records'}
            </span>
            <span className="faint">
              {active.kind} load of <span className="source-file">{active.source}</span>
              {formatNames[active.format] !== undefined && ` (${formatNames[active.format]})`},{' '}
              <Time at={active.finishedAt ?? active.startedAt} />
            </span>
          </>
        )}
        {schedule !== null && (
          <span className="faint">
            reads {schedule.path} every {formatDuration(schedule.everyMinutes * 60_000)}
            {schedule.checkedAt !== null && (
              <>
                , last <Time at={schedule.checkedAt} />
              </>
            )}
          </span>
        )}
        {schedule !== null && schedule.failure !== '' && (
          <StateMark tone="failed">{schedule.failure}</StateMark>
        )}
      </div>
      {mayChange && previous !== null && (
        <button type="button" onClick={() => setAsking(true)}>
          Roll back
        </button>
      )}
      {isAsking && previous !== null && (
        <Confirm
          title={`Roll ${name} back`}
          action="Roll back"
          isDangerous
          preview={async () => ({ active, previous })}
          render={(shown) => (
            <>
              <p>
                {name} serves <b>{formatNumber(shown.previous.recordCount)}</b> records again, as loaded{' '}
                <Time at={shown.previous.startedAt} as="zoned" /> from {shown.previous.source}
                {shown.active !== null && <>, in place of {formatNumber(shown.active.recordCount)}</>}. Other
                sources stay as they are.
              </p>
              <Command words={['directory', 'rollback', '--source', name]} />
            </>
          )}
          onConfirm={async (shown) => {
            // What the dialog shows is rolled back, or nothing.
            const known = shown.active === null ? '' : `?activeId=${shown.active.id}`;
            const { sentence } = await post<RollbackAnswer>(
              `/directory/sources/${encodeURIComponent(name)}/rollback${known}`,
            );
            announce({ text: sentence });
            await client.invalidateQueries({ queryKey: ['directory'] });
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </li>
  );
}

/** What people call the formats. */
const formatNames: Readonly<Record<string, string>> = {
  own: 'openhisp columns',
  directtrust: 'aggregated directory',
  nppes: 'NPPES',
  npd: 'national directory',
};

const stateTones: Readonly<Record<DirectoryLoad['state'], Level>> = {
  loading: 'waiting',
  merging: 'waiting',
  ready: 'ok',
  failed: 'failed',
  retired: 'none',
};

function Loads({ loads }: { readonly loads: readonly DirectoryLoad[] }): ReactNode {
  const [open, setOpen] = useState<number>();
  return (
    <div className="loads">
      {loads.map((load) => (
        <details
          key={load.id}
          className="load"
          open={open === load.id}
          onToggle={(event) => {
            if (event.currentTarget.open) setOpen(load.id);
            else if (open === load.id) setOpen(undefined);
          }}
        >
          <summary data-row="">
            <StateMark tone={stateTones[load.state]}>{load.state}</StateMark>
            <span className="load-name">
              <b>{load.sourceName === '' ? 'merge' : load.sourceName}</b>{' '}
              <span className="faint">
                {load.kind === 'merged' ? load.source : `${load.kind}, ${load.source}`}
              </span>
            </span>
            <span className="load-count">
              {load.state === 'ready' || load.state === 'retired'
                ? `${formatNumber(load.recordCount)} ${load.recordCount === 1 ? 'record' : 'records'}`
                : load.progress !== null && `${formatNumber(load.progress.rowsRead)} rows read`}
            </span>
            <span className="load-time">
              <Time at={load.startedAt} />
            </span>
            {load.report !== null && load.report.failure !== '' && (
              <span className="load-failure">{load.report.failure}</span>
            )}
            {load.progress !== null && <LoadProgress progress={load.progress} />}
          </summary>
          <LoadOrigin load={load} />
          {load.report === null ? (
            <p className="faint">
              {load.kind === 'merged'
                ? 'A merge has no report; those of its sources are below.'
                : 'The report follows when the load ends.'}
            </p>
          ) : (
            load.report.rowsRead > 0 && <LoadReportView report={load.report} />
          )}
        </details>
      ))}
    </div>
  );
}

function LoadProgress({
  progress,
}: {
  readonly progress: NonNullable<DirectoryLoad['progress']>;
}): ReactNode {
  const text = phaseTexts[progress.phase];
  return (
    <span className="load-progress">
      <span>{text}</span>
      <PhaseBar label={text} progress={progress} />
    </span>
  );
}

/** Who began it, and which node does the work. */
function LoadOrigin({ load }: { readonly load: DirectoryLoad }): ReactNode {
  const { startedBy, node, state } = load;
  if (startedBy === '') return null;
  const isRunning = state === 'loading' || state === 'merging';
  const where =
    node === null
      ? 'by a command'
      : node.isThis
        ? 'on this node'
        : `on another node (${node.id.slice(0, 8)})`;
  return (
    <p className="load-origin faint">
      {state === 'failed' ? 'Requested' : 'Started'} by <b>{startedBy}</b>,{' '}
      {isRunning ? `runs ${where}` : where}
    </p>
  );
}
