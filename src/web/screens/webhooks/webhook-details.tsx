import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import type {
  DeadNotification,
  DoneAnswer,
  Webhook,
  WebhookAttempt,
  WebhookDetails as Details,
  WebhookTest,
} from '../../../app/console/contract/index.ts';
import { post, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMay } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { CopyValue } from '../../components/copy.tsx';
import { Table } from '../../components/data-table.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Facts, Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatDuration, formatNumber, Time } from '../../components/time.tsx';
import { messagePath } from '../messages/message-path.ts';

const up = { name: 'Webhooks', href: '/webhooks' } as const;

/** One hook: state, dead letters with replay, test event, and attempts. */
export function WebhookDetails({ id }: { readonly id: string }): ReactNode {
  const path = `/webhooks/${encodeURIComponent(id)}`;
  const mayChange = useMay('settings.change');
  const [isSwitching, setSwitching] = useState(false);
  const details = useQuery<Details, ApiError>({
    queryKey: ['webhooks', 'one', id],
    queryFn: readView(path),
  });
  const test = useMutation<WebhookTest, ApiError>({ mutationFn: () => post<WebhookTest>(`${path}/test`) });
  if (details.data === undefined)
    return (
      <Screen title="Webhook" up={up}>
        {details.error === null ? (
          <LoadingState />
        ) : (
          <ErrorState error={details.error} onRetry={() => void details.refetch()} />
        )}
      </Screen>
    );
  const { webhook: hook, attempts, deadLetters } = details.data;
  return (
    <Screen
      title={hook.url}
      heading={<span className="hook-url">{hook.url}</span>}
      up={up}
      lead={
        <>
          <StateMark tone={hook.level}>{hook.text}</StateMark>
          {hook.whatToDo !== '' && (
            <p>
              <b>What to do:</b> {hook.whatToDo}
            </p>
          )}
        </>
      }
      actions={
        mayChange && (
          <>
            <button type="button" disabled={test.isPending} onClick={() => test.mutate()}>
              {test.isPending ? 'Sending' : 'Send a test event'}
            </button>
            <button type="button" onClick={() => setSwitching(true)}>
              {hook.isEnabled ? 'Disable' : 'Enable'}
            </button>
          </>
        )
      }
    >
      <div role="status" aria-live="polite">
        {test.error !== null && <ErrorState error={test.error} />}
        {test.data !== undefined && <TestResult result={test.data} />}
      </div>
      <HookFacts hook={hook} />
      {isSwitching && <SwitchHook hook={hook} path={path} onClose={() => setSwitching(false)} />}
      {deadLetters.length > 0 && (
        <DeadLetters id={hook.id} path={path} letters={deadLetters} total={hook.dead} mayChange={mayChange} />
      )}
      <Attempts hook={hook} attempts={attempts} />
    </Screen>
  );
}

function HookFacts({ hook }: { readonly hook: Webhook }): ReactNode {
  return (
    <Facts
      facts={[
        [
          'Client',
          <Link key="client" href={`/clients/${encodeURIComponent(hook.clientId)}`}>
            {hook.clientName || hook.clientId}
          </Link>,
        ],
        ['Receives', hook.kind === 'inbound' ? 'received messages' : hook.eventTypes.join(', ')],
        ['Description', hook.description],
        [
          'Waiting',
          hook.held === 0
            ? formatNumber(hook.waiting)
            : `${formatNumber(hook.waiting)}, and ${formatNumber(hook.held)} held until it is enabled`,
        ],
        [
          'Last success',
          hook.lastSuccessAt === null ? 'never' : <Time key="success" at={hook.lastSuccessAt} />,
        ],
        [
          'Failing since',
          hook.failingSince === null ? undefined : <Time key="since" at={hook.failingSince} />,
        ],
        [
          'Next attempt',
          hook.nextAttemptAt === null ? undefined : <Time key="next" at={hook.nextAttemptAt} as="due" />,
        ],
        ['Registered', <Time key="created" at={hook.createdAt} as="day" />],
        ['Webhook id', <CopyValue key="id" value={hook.id} label="webhook id" />],
      ]}
    />
  );
}

/** What happens to its events, before a webhook is turned off or on. */
function SwitchHook({
  hook,
  path,
  onClose,
}: {
  readonly hook: Webhook;
  readonly path: string;
  readonly onClose: () => void;
}): ReactNode {
  const announce = useAnnounce();
  const client = useQueryClient();
  // As it was when the dialog opened.
  const [wasEnabled] = useState(hook.isEnabled);
  return (
    <Confirm
      title={wasEnabled ? 'Disable this webhook?' : 'Enable this webhook?'}
      action={wasEnabled ? 'Disable' : 'Enable'}
      isDangerous={wasEnabled}
      preview={() => Promise.resolve(hook)}
      render={({ held, waiting }) => (
        <>
          <p>
            {wasEnabled
              ? `Nothing is sent to it until it is enabled again; its events are held, also the ${formatNumber(waiting)} that wait.`
              : `The ${formatNumber(held + waiting)} events that wait or are held are sent at once.`}
          </p>
          <Command words={['webhook', wasEnabled ? 'disable' : 'enable', hook.id]} />
        </>
      )}
      onConfirm={async () => {
        const done = await post<DoneAnswer>(`${path}/${wasEnabled ? 'disable' : 'enable'}`);
        announce({ text: done.sentence });
        await client.invalidateQueries({ queryKey: ['webhooks'] });
      }}
      onClose={onClose}
    />
  );
}

function TestResult({ result }: { readonly result: WebhookTest }): ReactNode {
  return (
    <div className="hook-test">
      <p>
        <StateMark tone={result.isOk ? 'ok' : 'failed'}>{result.sentence}</StateMark>
      </p>
      <p className="faint">
        {result.httpStatus === null ? 'no answer' : `HTTP ${result.httpStatus}`} in{' '}
        {formatDuration(result.durationMs)}
        {result.error !== '' && ` · ${result.error}`}
      </p>
      {result.answer !== '' && <pre>{result.answer}</pre>}
    </div>
  );
}

interface Replay {
  readonly count: number;
  /** Absent for all of the webhook. */
  readonly eventIds?: readonly string[];
}

function DeadLetters({
  id,
  path,
  letters,
  total,
  mayChange,
}: {
  readonly id: string;
  readonly path: string;
  readonly letters: readonly DeadNotification[];
  /** There may be more than are listed. */
  readonly total: number;
  readonly mayChange: boolean;
}): ReactNode {
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  // Chosen with the button: another operator may replay some of them while the dialog is open.
  const [replay, setReplay] = useState<Replay>();
  const announce = useAnnounce();
  const client = useQueryClient();
  const chosen = letters.filter(({ eventId }) => picked.has(eventId));
  const choose = (): void =>
    setReplay(
      chosen.length === 0
        ? { count: total }
        : { count: chosen.length, eventIds: chosen.map(({ eventId }) => eventId) },
    );
  return (
    <Section
      title="Dead letters"
      note={`Events whose retries failed for about a day. A replay sends them again with the same event id.${
        letters.length < total ? ` The oldest ${letters.length} are listed.` : ''
      }`}
      actions={
        mayChange && (
          <button type="button" className="primary" onClick={choose}>
            {chosen.length === 0
              ? `Replay all ${formatNumber(total)}`
              : `Replay ${formatNumber(chosen.length)} selected`}
          </button>
        )
      }
    >
      <Table
        caption="Dead letters"
        rows={letters}
        idOf={(letter) => letter.eventId}
        {...(mayChange ? { selection: { ids: picked, change: setPicked } } : {})}
        columns={[
          { name: 'Event', cell: (letter) => letter.eventType },
          {
            name: 'Message',
            isFlexible: true,
            from: 'medium',
            cell: (letter) => <MessageLink id={letter.messageId} />,
          },
          {
            name: 'Last answer',
            cell: (letter) => (
              <StateMark tone="failed">
                {letter.lastStatus === null ? letter.lastError : `HTTP ${letter.lastStatus}`}
              </StateMark>
            ),
          },
          { name: 'Attempts', align: 'end', from: 'medium', cell: (letter) => formatNumber(letter.attempts) },
          { name: 'Happened', cell: (letter) => <Time at={letter.createdAt} /> },
        ]}
      />
      {replay !== undefined && (
        <Confirm
          title={replay.count === 1 ? 'Replay 1 event' : `Replay ${formatNumber(replay.count)} events`}
          action="Replay"
          preview={async () => replay}
          render={({ count, eventIds = [] }) => (
            <>
              <p>
                {count === 1 ? 'One event is' : `${formatNumber(count)} events are`} sent to the endpoint
                again, oldest first. The endpoint can recognize a duplicate by its event id.
              </p>
              <Command
                words={['webhook', 'replay', id, ...(eventIds.length > 0 ? ['--event', ...eventIds] : [])]}
              />
            </>
          )}
          onConfirm={async ({ eventIds }) => {
            const done = await post<DoneAnswer>(`${path}/replay`, eventIds === undefined ? {} : { eventIds });
            announce({ text: done.sentence });
            setPicked(new Set());
            await client.invalidateQueries({ queryKey: ['webhooks'] });
          }}
          onClose={() => setReplay(undefined)}
        />
      )}
    </Section>
  );
}

function Attempts({
  hook,
  attempts,
}: {
  readonly hook: Webhook;
  readonly attempts: readonly WebhookAttempt[];
}): ReactNode {
  const slowest = Math.max(1, ...attempts.map(({ durationMs }) => durationMs));
  return (
    <Section
      title="Attempts"
      note="newest first. An event that is accepted at the first attempt is not listed."
    >
      {attempts.length === 0 ? (
        <EmptyState title="No attempt failed">
          {hook.lastSuccessAt === null
            ? 'Nothing was sent yet.'
            : 'Every event was accepted at the first attempt.'}
        </EmptyState>
      ) : (
        <ol className="attempts">
          {attempts.map((attempt) => (
            <li key={`${attempt.eventId} ${attempt.attempt}`}>
              <details>
                <summary data-row="">
                  <StateMark tone={attempt.level}>
                    {attempt.httpStatus === null ? 'no answer' : attempt.httpStatus}
                  </StateMark>
                  <span className="attempt-what">
                    attempt {attempt.attempt}
                    <span className="faint"> · {describeAnswer(attempt)}</span>
                  </span>
                  <span className="attempt-duration">
                    <span
                      className="attempt-bar"
                      aria-hidden="true"
                      style={{ inlineSize: `${Math.max(2, (attempt.durationMs / slowest) * 56)}px` }}
                    />
                    {formatDuration(attempt.durationMs)}
                  </span>
                  <span className="attempt-time">
                    <Time at={attempt.at} />
                  </span>
                </summary>
                <Facts
                  facts={[
                    ['Event id', <CopyValue key="event" value={attempt.eventId} label="event id" />],
                    ['Message', <MessageLink key="message" id={attempt.messageId} />],
                    ['At', <Time key="at" at={attempt.at} as="exact" />],
                  ]}
                />
                {attempt.answer !== '' && (
                  <>
                    <p className="faint">Beginning of the response</p>
                    <pre>{attempt.answer}</pre>
                  </>
                )}
              </details>
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}

/** The beginning of the response, else the error: the status is in front already. */
function describeAnswer({ answer, error, httpStatus }: WebhookAttempt): string {
  if (answer !== '') return answer;
  if (error === '') return 'accepted';
  return error === `HTTP ${httpStatus}` ? 'empty response' : error;
}

function MessageLink({ id }: { readonly id: string }): ReactNode {
  if (!id.startsWith('urn:uuid:')) return <code>{id}</code>;
  return <Link href={messagePath(id)}>{id.replace('urn:uuid:', '')}</Link>;
}
