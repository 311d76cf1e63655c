import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { DoneAnswer, MessageDetails, MessagePage } from '../../../app/console/contract/index.ts';
import { apiUrl, get, getAgain, getText, post, type ApiError } from '../../api/client.ts';
import { useMay, useMayWhole } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Copy, CopyValue } from '../../components/copy.tsx';
import { Command } from '../../components/command.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { AddLegalHold, LegalHolds, subjectsOf } from '../../components/legal-holds.tsx';
import { Facts, Screen, Section } from '../../components/screen.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { AuditRows } from './audit-rows.tsx';
import { testerOf } from './message-path.ts';
import { Recipient } from './recipient.tsx';

const apiPath = (messageId: string): string => `/messages/${encodeURIComponent(messageId)}`;
const up = { href: '/messages', name: 'Messages' };
/** With more recipients than this, the successful ones are collapsed. */
const maxUnfolded = 3;

/** One message: the state of each recipient, the reason, and the advice. */
export function MessageView({ messageId }: { readonly messageId: string }): ReactNode {
  const message = useMessage(messageId);
  if (message.data === undefined) {
    return (
      <Screen title="Message" up={up}>
        {message.error === null ? (
          <LoadingState lines={12} />
        ) : (
          <ErrorState error={message.error} onRetry={() => void message.refetch()} />
        )}
        {message.error?.status === 400 && (
          <Link href={`/messages?q=${encodeURIComponent(messageId)}`}>All messages with this id</Link>
        )}
      </Screen>
    );
  }
  return <Loaded message={message.data} onChanged={() => void message.refetch()} />;
}

/**
 * Reads the message. A view is audited, so it is refetched only if its rows in the list have changed, not at
 * every event.
 */
function useMessage(messageId: string): ReturnType<typeof useQuery<MessageDetails, ApiError>> {
  const client = useQueryClient();
  const key = ['message', messageId];
  const message = useQuery<MessageDetails, ApiError>({
    queryKey: key,
    queryFn: ({ signal }) => get<MessageDetails>(apiPath(messageId), {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const realId = message.data?.messageId;
  const rows = useQuery<MessagePage, ApiError>({
    queryKey: ['messages', 'of', realId],
    queryFn: ({ signal }) => getAgain<MessagePage>('/messages', { q: realId }, signal),
    enabled: realId !== undefined,
    gcTime: 0,
  });
  const seen = (message.data?.recipients ?? []).map(({ address, state }) => `${address} ${state}`);
  const isChanged = rows.data?.result.some(({ to, state }) => !seen.includes(`${to} ${state}`)) === true;
  const { dataUpdatedAt } = rows;
  useEffect(() => {
    if (isChanged) void client.invalidateQueries({ queryKey: ['message', messageId] });
  }, [isChanged, dataUpdatedAt, client, messageId]);
  return message;
}

type Action = 'retry' | 'fail';

function Loaded({
  message,
  onChanged,
}: {
  readonly message: MessageDetails;
  readonly onChanged: () => void;
}): ReactNode {
  const mayChange = useMay('messages.change');
  const mayReadAudit = useMayWhole('audit.read');
  const [action, setAction] = useState<Action>();
  const path = apiPath(message.messageId);
  const { recipients } = message;
  const [first] = recipients;
  const target = recipients.length === 1 && first ? first.address : `${recipients.length} recipients`;
  return (
    <Screen
      title={`To ${target}`}
      up={up}
      heading={
        <>
          <span className="message-from">{message.from === '' ? 'unknown sender' : message.from}</span>{' '}
          <span aria-label="to" className="arrow">
            →
          </span>{' '}
          <span className="message-to">{target}</span>
        </>
      }
      lead={
        <p className="message-lead">
          <StateMark tone={message.level}>{message.status}</StateMark>
          {recipients.length === 1 && first ? (
            <span className="muted">
              <Time at={first.stateAt} />
            </span>
          ) : (
            <span>{message.sentence}</span>
          )}
        </p>
      }
      actions={
        <>
          {mayChange && message.canRetry && (
            <button type="button" onClick={() => setAction('retry')}>
              Retry now
            </button>
          )}
          {mayChange && message.canFail && (
            <button type="button" onClick={() => setAction('fail')}>
              Fail
            </button>
          )}
          <AddLegalHold subjects={subjectsOf(message)} onDone={onChanged} />
          {message.direction === 'out' && (
            <a
              className="button"
              href={apiUrl(`${path}/evidence`)}
              download={`evidence-${message.messageId.replace('urn:uuid:', '')}.json`}
            >
              Evidence
            </a>
          )}
          <button type="button" onClick={() => print()}>
            Print
          </button>
          <Copy text={() => getText(`${path}/ticket`)} label="Copy for a ticket" />
        </>
      }
    >
      <LegalHolds holds={message.legalHolds} onChanged={onChanged} />
      <Names message={message} />
      {recipients.map((recipient) => (
        <Recipient
          key={recipient.address}
          recipient={recipient}
          sender={message.direction === 'out' ? message.from : undefined}
          isOnly={recipients.length === 1}
          isFolded={recipients.length > maxUnfolded && recipient.level === 'ok'}
        />
      ))}
      {mayReadAudit && (
        <Section title="Audit" note="Who did what with this message, oldest first.">
          <AuditRows entries={message.audit} />
        </Section>
      )}
      {action !== undefined && (
        <ConfirmAction
          action={action}
          message={message}
          onClose={() => setAction(undefined)}
          onDone={onChanged}
        />
      )}
    </Screen>
  );
}

function Names({ message }: { readonly message: MessageDetails }): ReactNode {
  const { messageId, wireId, requestId, clientId, clientName, acceptedAt, direction } = message;
  return (
    <div className="message-names">
      <Facts
        facts={[
          ['Message id', <CopyValue key="id" value={messageId} label="the message id" />],
          ['Wire id', wireId && <CopyValue key="wire" value={wireId} label="the wire id" />],
          ['Request id', requestId && <CopyValue key="request" value={requestId} label="the request id" />],
        ]}
      />
      <Facts
        facts={[
          [direction === 'out' ? 'Accepted' : 'Received', <Time key="at" at={acceptedAt} as="exact" />],
          testerOf(clientId) === undefined
            ? ['Client', clientId && <ClientName key="client" id={clientId} name={clientName} />]
            : ['Test by', testerOf(clientId)],
          [
            'Final delivery',
            direction === 'out' && (message.requestsFinalDelivery ? 'requested' : 'not requested'),
          ],
        ]}
      />
    </div>
  );
}

function ClientName({ id, name }: { readonly id: string; readonly name: string }): ReactNode {
  const mayRead = useMay('settings.read');
  const shown = name === '' ? id : name;
  return mayRead ? <Link href={`/clients/${encodeURIComponent(id)}`}>{shown}</Link> : shown;
}

function ConfirmAction({
  action,
  message,
  onClose,
  onDone,
}: {
  readonly action: Action;
  readonly message: MessageDetails;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): ReactNode {
  const announce = useAnnounce();
  const concerned = message.recipients.filter(({ canRetry, canFail }) =>
    action === 'retry' ? canRetry : canFail,
  );
  return (
    <Confirm
      title={action === 'retry' ? 'Retry now?' : 'Fail this message?'}
      action={action === 'retry' ? 'Retry now' : 'Fail message'}
      isDangerous={action === 'fail'}
      preview={() => Promise.resolve(concerned)}
      render={(recipients) => (
        <>
          <p>
            {action === 'retry'
              ? 'Retries these recipients now, instead of at their next attempt:'
              : 'Ends the delivery to these recipients. The client is notified that the message failed. This cannot be undone:'}
          </p>
          <ul className="plain-list">
            {recipients.map(({ address, state, level }) => (
              <li key={address}>
                {address} <StateMark tone={level}>{state}</StateMark>
              </li>
            ))}
          </ul>
          <Command words={['message', action, message.messageId]} />
        </>
      )}
      onConfirm={async () => {
        const { sentence } = await post<DoneAnswer>(`${apiPath(message.messageId)}/${action}`);
        announce({ text: sentence });
        onDone();
      }}
      onClose={onClose}
    />
  );
}
