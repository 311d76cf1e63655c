import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type {
  Attempt,
  HistoryEntry,
  RecipientDetails,
  Station,
} from '../../../app/console/contract/index.ts';
import { useMay } from '../../api/session.ts';
import { CertificatePaths } from '../../components/certificate-paths.tsx';
import { Table, type Column } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { StateMark, StateShape } from '../../components/states.tsx';
import { formatDuration, Time } from '../../components/time.tsx';

/** One recipient: first the stages of the delivery, then the evidence. */
export function Recipient({
  recipient,
  sender,
  isOnly,
  isFolded,
}: {
  readonly recipient: RecipientDetails;
  /** Our sender; undefined for received mail. */
  readonly sender: string | undefined;
  /** True if the address and state are already shown above. */
  readonly isOnly: boolean;
  readonly isFolded: boolean;
}): ReactNode {
  const { address, state, stateAt, level } = recipient;
  const head = (
    <>
      <span className="recipient-address">{address}</span>
      <StateMark tone={level}>{state}</StateMark>
      <span className="muted small">
        <Time at={stateAt} />
      </span>
    </>
  );
  if (isFolded) {
    return (
      <details className="recipient">
        <summary>
          <Icon name="next" />
          {head}
        </summary>
        <Evidence recipient={recipient} sender={sender} />
      </details>
    );
  }
  return (
    <section className="recipient" aria-label={address}>
      <h2 className={isOnly ? 'visually-hidden' : 'recipient-head'}>{head}</h2>
      <Evidence recipient={recipient} sender={sender} />
    </section>
  );
}

interface OfRecipient {
  readonly recipient: RecipientDetails;
  readonly sender: string | undefined;
}

function Evidence({ recipient, sender }: OfRecipient): ReactNode {
  const { stations, certificates, attempts, history } = recipient;
  return (
    <>
      <Stations stations={stations} />
      <Verdict recipient={recipient} sender={sender} />
      {certificates.length > 0 && (
        <div className="evidence">
          <h3>Certificates and path</h3>
          <CertificatePaths paths={certificates} />
        </div>
      )}
      {attempts.length > 0 && (
        <div className="evidence">
          <h3>Attempts</h3>
          <Table caption="Attempts, oldest first" columns={attemptColumns} rows={attempts} idOf={attemptId} />
        </div>
      )}
      {history.length > 0 && (
        <div className="evidence">
          <h3>History</h3>
          <Table caption="History, oldest first" columns={historyColumns} rows={history} idOf={historyId} />
        </div>
      )}
    </>
  );
}

const stationTones = {
  ok: 'ok',
  current: 'waiting',
  failed: 'failed',
  'not-reached': 'none',
  'not-needed': 'none',
} as const;

const stationWords = {
  ok: 'passed',
  current: 'in progress',
  failed: 'stopped here',
  'not-reached': 'not reached',
  'not-needed': 'not requested',
} as const;

function Stations({ stations }: { readonly stations: readonly Station[] }): ReactNode {
  return (
    <ol className="stations">
      {stations.map(({ id, title, state, at, text }) => (
        <li key={id} data-state={state} aria-current={state === 'current' ? 'step' : undefined}>
          <span className="station-mark">
            <StateShape tone={stationTones[state]} />
          </span>
          <span className="station-title">{title}</span>
          <span className="station-when">
            {state === 'ok' && at !== null ? <Time at={at} as="exact" /> : stationWords[state]}
          </span>
          {text !== '' && <span className="station-text">{text}</span>}
        </li>
      ))}
    </ol>
  );
}

function Verdict({ recipient, sender }: OfRecipient): ReactNode {
  const { sentence, whatToDo, reason, statusCode, level, nextAttemptAt, givesUpAt, attemptCount } = recipient;
  const codes = [reason, statusCode].filter((code) => code !== '').join(' · ');
  return (
    <div className="verdict" data-tone={level}>
      <p className="verdict-sentence">{sentence}</p>
      {whatToDo !== '' && (
        <p>
          <b>What to do:</b> {whatToDo}
        </p>
      )}
      <p className="verdict-facts">
        {recipient.isOnHold && <StateMark tone="warning">on hold</StateMark>}
        {recipient.isRunning && <StateMark tone="waiting">being tried now</StateMark>}
        {nextAttemptAt !== null && (
          <span>
            next attempt <Time at={nextAttemptAt} />
          </span>
        )}
        {givesUpAt !== null && !recipient.isFinal && (
          <span>
            expires <Time at={givesUpAt} />
          </span>
        )}
        {attemptCount > 0 && (
          <span>
            {attemptCount} {attemptCount === 1 ? 'attempt' : 'attempts'}
          </span>
        )}
        {codes !== '' && <code>{codes}</code>}
      </p>
      {sender !== undefined && level !== 'ok' && <NextSteps recipient={recipient} sender={sender} />}
    </div>
  );
}

/** Links to where the advice can be followed. */
function NextSteps({
  recipient: { address, destination, isFinal, stations },
  sender,
}: {
  readonly recipient: RecipientDetails;
  readonly sender: string;
}): ReactNode {
  const mayCheck = useMay('addresses.check');
  const mayRead = useMay('settings.read');
  const from = sender.slice(sender.lastIndexOf('@') + 1);
  const check = new URLSearchParams({ address, from });
  // The other HISP has it, and may not trust us.
  const isSent = stations.some(({ id, state }) => id === 'sent' && state === 'ok');
  return (
    <p className="verdict-links">
      {mayCheck && <Link href={`/check?${check.toString()}`}>Check this address</Link>}
      <Link href={`/messages?q=${encodeURIComponent(destination)}`}>Other messages of {destination}</Link>
      {isSent && mayRead && <Link href={`/domains/${encodeURIComponent(from)}`}>Keys of {from}</Link>}
      {!isFinal && <Link href={`/queue/${encodeURIComponent(destination)}`}>Queue of {destination}</Link>}
    </p>
  );
}

const attemptId = ({ at, host, address }: Attempt): string => `${at} ${host} ${address}`;
const attemptColumns: readonly Column<Attempt>[] = [
  { name: 'When', cell: ({ at }) => <Time at={at} as="exact" /> },
  {
    name: 'Host',
    isPlain: true,
    cell: ({ host, address, destination, tls }) => (
      <>
        {host === '' ? (
          <span className="muted">no server reached</span>
        ) : (
          <span className="breakable">{host}</span>
        )}{' '}
        <span className="sub">
          {[address, host === '' ? destination : '', tls].filter((text) => text !== '').join(' · ')}
        </span>
      </>
    ),
  },
  {
    name: 'Outcome',
    isPlain: true,
    cell: ({ outcome, level, reply }) => (
      <>
        <StateMark tone={level}>{outcome}</StateMark>{' '}
        <span className="sub narrow-only breakable">{reply}</span>
      </>
    ),
  },
  {
    name: 'Reply',
    from: 'medium',
    cell: ({ reply, code }) => (
      <>
        <code className="breakable">{reply}</code>{' '}
        {code !== '' && !reply.startsWith(code) && <span className="sub">{code}</span>}
      </>
    ),
  },
  { name: 'Took', isPlain: true, align: 'end', cell: ({ durationMs }) => formatDuration(durationMs) },
];

/** What happened, by the names of the API. */
const eventWords: Readonly<Record<string, string>> = {
  accepted: 'accepted',
  sent: 'accepted by their mail server',
  refused: 'delivery ended',
  processed: 'processed MDN arrived',
  dispatched: 'dispatched MDN arrived',
  'failure-reported': 'failure reported by MDN or DSN',
  'window-closed': 'no MDN in time',
};

const historyId = ({ at, event, text }: HistoryEntry): string => `${at} ${event} ${text}`;
const historyColumns: readonly Column<HistoryEntry>[] = [
  { name: 'When', cell: ({ at }) => <Time at={at} as="exact" /> },
  { name: 'Event', isPlain: true, cell: ({ event }) => eventWords[event] ?? event },
  { name: 'State', cell: ({ state }) => state },
  {
    name: 'Details',
    isPlain: true,
    isFlexible: true,
    cell: ({ text, reason, statusCode, isLate }) => (
      <>
        <span className="breakable">{text.replace(/^(?:smtp|x-[\w-]+);\s*/i, '')}</span>{' '}
        <span className="sub">
          {[reason, statusCode.startsWith('2') ? '' : statusCode, isLate ? 'arrived too late' : '']
            .filter((word) => word !== '')
            .join(' · ')}
        </span>
      </>
    ),
  },
];
