import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useId, useState, type FormEvent, type ReactNode } from 'react';
import type { LoadEvent, UploadAnswer, Level } from '../../../app/console/contract/index.ts';
import { ApiError, upload } from '../../api/client.ts';
import { visibleText } from '../../api/visible-text.ts';
import { subscribeLoads, useLiveState } from '../../api/live.ts';
import { Command } from '../../components/command.tsx';
import { Section } from '../../components/screen.tsx';
import { ErrorState, StateMark } from '../../components/states.tsx';
import { formatBytes, formatNumber } from '../../components/time.tsx';

interface Running {
  readonly file: File;
  readonly query: Readonly<Record<string, string>>;
  /** Undefined while the file is being uploaded. */
  readonly uploadId?: string;
  readonly error?: Error;
}

export const phaseTexts: Readonly<Record<LoadEvent['phase'], string>> = {
  waiting: 'Waiting for another load',
  reading: 'Reading rows',
  merging: 'Merging with the other sources',
  indexing: 'Building the index',
  activating: 'Activating',
  done: 'Loaded. The new directory is active',
  failed: 'Failed. The old directory is still active',
};

/** Uploads whose last event is stored; other operators may upload, too. */
const maxUploads = 20;

/** Uploads a file and shows the progress of its load; the served directory changes only at the end. */
export function UploadForm({ sources }: { readonly sources: readonly string[] }): ReactNode {
  const [running, setRunning] = useState<Running>();
  const [command, setCommand] = useState(() => commandFor(new FormData(), sources[0]));
  const client = useQueryClient();
  // A small file may be loaded before the answer with its upload id arrives.
  const [lastEvents, setLastEvents] = useState<ReadonlyMap<string, LoadEvent>>(new Map());
  useEffect(
    () =>
      subscribeLoads((event) => {
        setLastEvents((before) => new Map([...before, [event.uploadId, event] as const].slice(-maxUploads)));
        if (event.phase === 'done' || event.phase === 'failed')
          for (const topic of ['directory', 'loads']) void client.invalidateQueries({ queryKey: [topic] });
      }),
    [client],
  );
  const uploadId = running?.uploadId;
  const event = uploadId === undefined ? undefined : lastEvents.get(uploadId);
  const isMissed = useMissed(uploadId, event);

  async function send(submitted: FormEvent<HTMLFormElement>): Promise<void> {
    submitted.preventDefault();
    const form = new FormData(submitted.currentTarget);
    const file = form.get('file');
    if (!(file instanceof File)) return;
    const query = {
      source: textOf(form, 'source'),
      kind: textOf(form, 'kind'),
      format: textOf(form, 'format'),
      name: file.name,
    };
    if (file.size === 0) setRunning({ file, query, error: new Error(`${visibleText(file.name)} is empty.`) });
    else await load(file, query);
  }

  async function load(file: File, query: Running['query']): Promise<void> {
    setRunning({ file, query });
    try {
      const answer = await upload<UploadAnswer>('/directory/loads', asUpload(file), { ...query });
      setRunning({ file, query, uploadId: answer.uploadId });
    } catch (error) {
      setRunning({ file, query, error: error instanceof Error ? error : new Error(String(error)) });
    }
  }

  const isBusy = running !== undefined && running.error === undefined && !isMissed && !isLast(event);
  const list = useId();
  return (
    <Section title="Load a file" note="CSV, gzip or zip; the type is detected from the content">
      <form
        className="upload"
        onSubmit={(submitted) => void send(submitted)}
        onChange={({ currentTarget }) => setCommand(commandFor(new FormData(currentTarget), sources[0]))}
      >
        <label className="field">
          <span>File</span>
          <input type="file" name="file" accept=".csv,.gz,.zip,text/csv,application/zip" required />
        </label>
        <label className="field">
          <span>Source</span>
          <input
            type="text"
            name="source"
            list={list}
            defaultValue={sources[0] ?? 'default'}
            pattern="[a-z0-9\-]{1,32}"
            required
          />
          <datalist id={list}>
            {sources.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </datalist>
        </label>
        <label className="field">
          <span>Kind</span>
          <select name="kind">
            <option value="full">full: replaces the source</option>
            <option value="incremental">incremental: adds, changes, removes</option>
          </select>
        </label>
        <label className="field">
          <span>Format</span>
          <select name="format">
            <option value="auto">by its header</option>
            <option value="own">openhisp columns</option>
            <option value="directtrust">aggregated directory</option>
            <option value="nppes">NPPES</option>
          </select>
        </label>
        <button type="submit" className="primary" disabled={isBusy}>
          Load
        </button>
      </form>
      <Command words={command} />
      <div aria-live="polite">
        {running !== undefined && <Progress running={running} event={event} isMissed={isMissed} />}
        {running !== undefined && event?.isLoss === true && (
          <p>
            The report of this load is below.{' '}
            <button
              type="button"
              className="danger"
              onClick={() => void load(running.file, { ...running.query, acceptLoss: 'true' })}
            >
              Load it with this loss
            </button>
          </p>
        )}
      </div>
    </Section>
  );
}

/** A load begins within this time, unless it waits for another one. */
const maxSilenceMs = 15_000;

const isLast = (event: LoadEvent | undefined): boolean =>
  event?.phase === 'done' || event?.phase === 'failed';

/**
 * True if the events of an upload do not come: they are lost while the stream is interrupted, and the stream
 * of a page may be of another node than the one that loads.
 */
function useMissed(uploadId: string | undefined, event: LoadEvent | undefined): boolean {
  const [isMissed, setMissed] = useState(false);
  const live = useLiveState();
  useEffect(() => {
    setMissed(false);
    if (uploadId === undefined || event !== undefined) return undefined;
    const timer = setTimeout(() => setMissed(true), maxSilenceMs);
    return () => clearTimeout(timer);
  }, [uploadId, event]);
  useEffect(() => {
    if (live !== 'live' && uploadId !== undefined && !isLast(event)) setMissed(true);
  }, [live, uploadId, event]);
  return isMissed;
}

/** It finds the format by the content. */
function commandFor(form: FormData, firstSource = 'default'): readonly (string | undefined)[] {
  const file = form.get('file');
  return [
    'directory',
    'import',
    (file instanceof File && visibleText(file.name)) || 'FILE',
    textOf(form, 'kind') === 'incremental' ? '--incremental' : undefined,
    '--source',
    textOf(form, 'source') || firstSource,
  ];
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

/** The server takes `text/csv` or `application/zip`; browsers name a CSV file in several ways. */
function asUpload(file: File): Blob {
  return file.slice(0, file.size, /\.(zip|gz)$/i.test(file.name) ? 'application/zip' : 'text/csv');
}

function Progress({
  running,
  event,
  isMissed,
}: {
  readonly running: Running;
  readonly event: LoadEvent | undefined;
  readonly isMissed: boolean;
}): ReactNode {
  const { file, error, uploadId } = running;
  if (error instanceof ApiError) return <ErrorState error={error} />;
  if (error !== undefined)
    return (
      <p className="upload-progress">
        <StateMark tone="failed">{error.message}</StateMark>
      </p>
    );
  const isOver = isLast(event);
  const text = isMissed
    ? 'Uploaded. This page has no news of the load; Loads, below, has its state.'
    : event !== undefined
      ? phaseTexts[event.phase]
      : uploadId === undefined
        ? 'Uploading the file'
        : phaseTexts.waiting;
  const tone: Level = event?.phase === 'done' ? 'ok' : event?.phase === 'failed' ? 'failed' : 'waiting';
  return (
    <div className="upload-progress">
      <p>
        <StateMark tone={tone}>{text}</StateMark>{' '}
        <span className="faint">
          {visibleText(file.name)}, {formatBytes(file.size)}
          {event !== undefined && event.rowsRead > 0 && `, ${formatNumber(event.rowsRead)} rows read`}
        </span>
      </p>
      {event !== undefined && event.text !== '' && <p>{event.text}</p>}
      {!isOver && !isMissed && <PhaseBar label={text} progress={event} />}
    </div>
  );
}

/** Shows how much of the file is read; in the other phases only that something is done. */
export function PhaseBar({
  label,
  progress,
}: {
  readonly label: string;
  readonly progress: Pick<LoadEvent, 'phase' | 'bytesRead' | 'totalBytes'> | undefined;
}): ReactNode {
  const total = progress?.totalBytes ?? null;
  const isMeasured = progress?.phase === 'reading' && total !== null && total > 0;
  return <progress aria-label={label} {...(isMeasured ? { max: total, value: progress.bytesRead } : {})} />;
}
