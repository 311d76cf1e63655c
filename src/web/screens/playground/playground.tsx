import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useLocation, useParams, useSearchParams } from 'wouter';
import type {
  Partner,
  Playground,
  PlaygroundSend,
  SentMessage,
  Level,
} from '../../../app/console/contract/index.ts';
import { get, post, type ApiError } from '../../api/client.ts';
import { breakable } from '../../components/address.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateShape } from '../../components/states.tsx';
import { formatBytes } from '../../components/time.tsx';
import { idFromPath } from '../messages/message-path.ts';
import { Exchange } from './exchange.tsx';

/**
 * Send to a partner of the sandbox and watch the exchange on the wire: `/playground`,
 * `/playground/:messageId`.
 */
export function PlaygroundScreen(): ReactNode {
  const { messageId: part } = useParams<{ messageId?: string }>();
  const messageId = part === undefined ? undefined : idFromPath(part);
  const playground = useQuery<Playground, ApiError>({
    queryKey: ['playground'],
    queryFn: ({ signal }) => get('/playground', {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Screen
      title="Playground"
      lead="Each partner of the sandbox produces one outcome. Choose one, and watch the exchange on the wire."
    >
      {playground.error !== null && (
        <ErrorState error={playground.error} onRetry={() => void playground.refetch()} />
      )}
      {playground.error === null && playground.data === undefined && <LoadingState />}
      {playground.data !== undefined && <Send playground={playground.data} />}
      <Section title="The exchange" note={messageId?.replace('urn:uuid:', '')}>
        {messageId === undefined ? (
          <EmptyState title="Nothing sent yet">
            <p>The DNS queries, SMTP lines, MDNs and webhook calls of a message appear here.</p>
          </EmptyState>
        ) : (
          <Exchange key={messageId} messageId={messageId} />
        )}
      </Section>
    </Screen>
  );
}

const tones: Readonly<Record<Partner['outcome'], Level>> = {
  processed: 'ok',
  dispatched: 'ok',
  failed: 'failed',
  expired: 'warning',
  untrusted: 'failed',
  noCertificate: 'failed',
};

function Send({ playground }: { readonly playground: Playground }): ReactNode {
  const [parameters] = useSearchParams();
  const [, open] = useLocation();
  const [to, setTo] = useState(parameters.get('to') ?? '');
  const [sample, setSample] = useState(playground.samples[0]?.id ?? '');
  const send = useMutation<SentMessage, ApiError, PlaygroundSend>({
    mutationFn: (body) => post<SentMessage>('/playground/send', body),
    onSuccess: ({ messageId }) => open(`/playground/${messageId.replace('urn:uuid:', '')}`),
  });
  const sendTo = (partner: Partner): void =>
    send.mutate({
      to: partner.address,
      sample,
      ...(partner.outcome === 'dispatched' ? { requestFinalDelivery: true } : {}),
    });
  return (
    <>
      <ul className="outcomes" aria-label="Outcomes">
        {playground.partners.map((partner) => (
          <li key={partner.outcome}>
            <button type="button" disabled={send.isPending} onClick={() => sendTo(partner)}>
              <span className="outcome-title">
                <StateShape tone={tones[partner.outcome]} /> {partner.title}
              </span>
              <span className="outcome-text">{partner.text}</span>
              <span className="outcome-address">{breakable(partner.address)}</span>
            </button>
          </li>
        ))}
      </ul>
      <form
        className="playground-form"
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate({ to: to.trim(), sample });
        }}
      >
        <SelectField
          label="Document"
          options={playground.samples.map(
            ({ id, title, bytes }) => [id, `${title} (${formatBytes(bytes)})`] as const,
          )}
          value={sample}
          onValue={setSample}
        />
        <TextField
          label="To any address"
          value={to}
          onText={setTo}
          placeholder="name@direct.example"
          spellCheck={false}
        />
        <button type="submit" className="primary" disabled={send.isPending || to.trim() === ''}>
          Send
        </button>
        <p className="faint playground-from">
          From {playground.from}. Sample data only; nothing leaves this machine.
        </p>
      </form>
      {send.error !== null && <ErrorState error={send.error} />}
    </>
  );
}
