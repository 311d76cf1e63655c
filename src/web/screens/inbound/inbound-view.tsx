import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { InboundDetails } from '../../../app/console/contract/index.ts';
import { get, getText, type ApiError } from '../../api/client.ts';
import { useMay, useMayWhole } from '../../api/session.ts';
import { Address } from '../../components/address.tsx';
import { CertificatePaths } from '../../components/certificate-paths.tsx';
import { Command } from '../../components/command.tsx';
import { Copy, CopyValue } from '../../components/copy.tsx';
import { Facts, Screen, Section } from '../../components/screen.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { AnchorDialog } from '../domains/trust-changes.tsx';
import { ConfirmRetry } from './confirm-retry.tsx';

/** One refused mail or dead letter: why, whose certificate, and what can be done. */
export function InboundView({ id }: { readonly id: string }): ReactNode {
  const path = `/inbound/${encodeURIComponent(id)}`;
  const mail = useQuery<InboundDetails, ApiError>({
    // Not with the lists: the mail is gone when it was processed, and each view is audited.
    queryKey: ['inbound-mail', id],
    queryFn: ({ signal }) => get<InboundDetails>(path, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (mail.data !== undefined) return <Loaded mail={mail.data} path={path} />;
  return (
    <Screen title="Inbound mail" up={upTo('refused')}>
      {mail.error === null ? (
        <LoadingState lines={8} />
      ) : (
        <ErrorState error={mail.error} onRetry={() => void mail.refetch()} />
      )}
    </Screen>
  );
}

const upTo = (state: string): { href: string; name: string } => ({
  href: `/inbound?state=${state}`,
  name: 'Inbound',
});

function Loaded({ mail, path }: { readonly mail: InboundDetails; readonly path: string }): ReactNode {
  const { row, mailId, authorities, domains } = mail;
  const mayChange = useMay('messages.change');
  const mayTrust = useMayWhole('settings.change');
  const [trusting, setTrusting] = useState<string>();
  const [isRetrying, setIsRetrying] = useState(false);
  const [, open] = useLocation();
  const sender = row.from === '' ? 'null sender' : row.from;
  return (
    <Screen
      title={`Mail from ${sender}`}
      up={upTo(row.state)}
      lead={<StateMark tone={row.level}>{row.text}</StateMark>}
      actions={
        <>
          {mayChange && row.canRetry && (
            <button type="button" onClick={() => setIsRetrying(true)}>
              Retry
            </button>
          )}
          {mayTrust &&
            authorities.length > 0 &&
            domains.map((domain) => (
              <button key={domain} type="button" onClick={() => setTrusting(domain)}>
                {domains.length === 1 ? 'Trust this CA…' : `Trust this CA for ${domain}…`}
              </button>
            ))}
          <Copy text={() => getText(`${path}/ticket`)} label="Copy for a ticket" />
        </>
      }
    >
      {row.whatToDo !== '' && <p>{row.whatToDo}</p>}
      <Facts
        facts={[
          ['Time', <Time key="at" at={row.at} as="exact" />],
          ['From', row.from === '' ? 'null sender' : <Address key="from" of={row.from} />],
          ['To', <Address key="to" of={row.to.join(', ')} />],
          ['Code', row.code !== '' && <code key="code">{row.code}</code>],
          ['Wire id', row.wireId && <CopyValue key="wire" value={row.wireId} label="the wire id" />],
          ['Mail id', mailId && <CopyValue key="id" value={mailId} label="the mail id" />],
          ['Peer', row.remoteAddress !== '' && <code key="peer">{row.remoteAddress}</code>],
          ['Attempts', row.attempts > 0 && String(row.attempts)],
        ]}
      />
      <Command words={['inbound', 'show', row.id]} />
      {mail.path !== null && (
        <Section
          title="Signer"
          note="The certificates that came with the mail, or were fetched, as far as each is signed by the next."
        >
          <CertificatePaths paths={[mail.path]} />
        </Section>
      )}
      {trusting !== undefined && (
        <AnchorDialog
          domain={trusting}
          path={`/domains/${encodeURIComponent(trusting)}`}
          offered={authorities}
          onClose={() => setTrusting(undefined)}
        />
      )}
      {isRetrying && (
        <ConfirmRetry
          row={row}
          onDone={() => open(upTo(row.state).href)}
          onClose={() => setIsRetrying(false)}
        />
      )}
    </Screen>
  );
}
