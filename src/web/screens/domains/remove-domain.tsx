import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { DomainRemoval, DoneAnswer, RemoveRequest } from '../../../app/console/contract/index.ts';
import { post, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Facts } from '../../components/screen.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber } from '../../components/time.tsx';

/** First its addresses are disabled, so that nothing new begins; then it is removed by its name. */
export function RemoveDomain({
  domain,
  path,
  onClose,
}: {
  readonly domain: string;
  readonly path: string;
  readonly onClose: () => void;
}): ReactNode {
  const [typed, setTyped] = useState('');
  const [, navigate] = useLocation();
  const announce = useAnnounce();
  const queries = useQueryClient();
  const removal = useQuery<DomainRemoval, ApiError>({
    queryKey: ['trust', 'removal', domain],
    queryFn: readView(`${path}/removal`),
    staleTime: 0,
    gcTime: 0,
  });
  const title = `Remove ${domain}`;
  const shown = removal.data;
  if (shown === undefined)
    return (
      <Dialog title={title} onClose={onClose}>
        {removal.error === null ? <LoadingState lines={4} /> : <ErrorState error={removal.error} />}
      </Dialog>
    );
  if (shown.activeAddresses > 0)
    return (
      <FormDialog<DoneAnswer>
        key="disable"
        title={title}
        action={`Disable ${counted(shown.activeAddresses, 'address', 'addresses')}`}
        fields={[]}
        isDangerous
        send={() => post<DoneAnswer>(`${path}/disable`)}
        onDone={({ sentence }) => {
          announce({ text: sentence });
          void queries.invalidateQueries();
        }}
        onClose={onClose}
      >
        {() => (
          <>
            <p>
              First its addresses are disabled and taken out of the directory: nothing new is sent, and who
              writes to them gets a signed failure. What is under way finishes. Then the domain can be
              removed.
            </p>
            <Command words={['domain', 'disable', domain]} />
          </>
        )}
      </FormDialog>
    );
  const isFree = shown.obstacles.length === 0;
  return (
    <FormDialog<DoneAnswer>
      key="remove"
      title={title}
      action="Remove this domain"
      fields={['domain']}
      isDangerous
      canSend={isFree && typed.trim().toLowerCase() === domain}
      above={
        !isFree && (
          <div className="stack">
            {shown.obstacles.map((text) => (
              <StateMark key={text} tone="waiting">
                {text}
              </StateMark>
            ))}
            <p>
              <button type="button" disabled={removal.isFetching} onClick={() => void removal.refetch()}>
                Look again
              </button>
            </p>
          </div>
        )
      }
      send={() => post<DoneAnswer>(`${path}/remove`, { domain: typed } satisfies RemoveRequest)}
      onDone={({ sentence }) => {
        announce({ text: sentence });
        navigate('/domains');
        // When the page of the domain is gone, whose data is not found any more.
        setTimeout(() => void queries.invalidateQueries(), 0);
      }}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <Facts
            facts={[
              ['Addresses', noneOr(shown.addresses, 'which end with their directory entries')],
              ['Keys', noneOr(shown.keys, 'which are retired: they only decrypt')],
              ['Anchors', noneOr(shown.anchors, 'which end')],
              ['Bundles', noneOr(shown.bundles, 'which are no longer fetched')],
              [
                'Not fetched',
                shown.unread === 0
                  ? undefined
                  : `${counted(shown.unread, 'received message', 'received messages')}, for whose clients they stay`,
              ],
              [
                'Dead letters',
                shown.deadLetters === 0
                  ? undefined
                  : `${formatNumber(shown.deadLetters)}, which can no longer be retried`,
              ],
            ]}
          />
          <p className="muted">
            Messages, evidence, usage and the audit trail stay. Mail for the domain is refused from then on;
            take its records out of the DNS.
          </p>
          {isFree && (
            <TextField
              label="Name of the domain"
              hint={`type ${domain} to confirm`}
              required
              maxLength={255}
              value={typed}
              onText={setTyped}
              error={problemOf('domain')}
            />
          )}
          <Command words={['domain', 'remove', domain, '--yes']} />
        </>
      )}
    </FormDialog>
  );
}

const noneOr = (count: number, fate: string): string =>
  count === 0 ? 'none' : `${formatNumber(count)}, ${fate}`;

const counted = (count: number, one: string, many: string): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`;
