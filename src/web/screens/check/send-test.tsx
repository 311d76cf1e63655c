import { useQuery } from '@tanstack/react-query';
import { useId, useMemo, useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { AddressPage, SentMessage, TestMessage } from '../../../app/console/contract/index.ts';
import { ask, get, type ApiError } from '../../api/client.ts';
import { Address } from '../../components/address.tsx';
import { Command } from '../../components/command.tsx';
import { TextField } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { messagePath } from '../messages/message-path.ts';

/** Sends a fixed text from a hosted address, and opens the message's page, which shows how far it comes. */
export function SendTest({
  to,
  domain,
  onClose,
}: {
  readonly to: string;
  /** The hosted domain whose anchors the check applied. */
  readonly domain: string;
  readonly onClose: () => void;
}): ReactNode {
  const [, open] = useLocation();
  const [typed, setTyped] = useState<string>();
  const [requestFinalDelivery, setFinal] = useState(false);
  const list = useId();
  const { data } = useQuery<AddressPage, ApiError>({
    queryKey: ['senders', domain, typed],
    queryFn: ({ signal }) =>
      get(
        `/domains/${encodeURIComponent(domain)}/addresses`,
        { status: 'active', limit: 20, q: typed },
        signal,
      ),
    placeholderData: (before) => before,
  });
  const from = (typed ?? data?.result[0]?.address ?? '').trim();
  // The same test once, however often it is sent; another one if anything was changed.
  const messageId = useMemo(
    () => (requestFinalDelivery || from || to ? `urn:uuid:${crypto.randomUUID()}` : ''),
    [from, to, requestFinalDelivery],
  );
  return (
    <FormDialog<SentMessage>
      title="Send a test message"
      action="Send"
      fields={['fromDirectAddress', 'toDirectAddress']}
      canSend={from !== ''}
      send={() =>
        ask<SentMessage>('/test-messages', {
          messageId,
          fromDirectAddress: from,
          toDirectAddress: to,
          requestFinalDelivery,
        } satisfies TestMessage)
      }
      onDone={(sent) => open(messagePath(sent.messageId))}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <p>
            To <Address of={to} />
          </p>
          <TextField
            label="From"
            hint={
              data?.total === 0
                ? `${domain} has no address yet. Host one on its page.`
                : 'an active hosted address; its mailbox gets a reply, if there is one'
            }
            list={list}
            inputMode="email"
            required
            maxLength={255}
            value={typed ?? from}
            onText={setTyped}
            error={problemOf('fromDirectAddress') ?? problemOf('toDirectAddress')}
          />
          <datalist id={list}>
            {data?.result.map(({ address }) => (
              <option key={address}>{address}</option>
            ))}
          </datalist>
          <label className="choice">
            <input
              type="checkbox"
              checked={requestFinalDelivery}
              onChange={(event) => setFinal(event.currentTarget.checked)}
            />
            <span>Ask for the MDN of the final delivery</span>
          </label>
          <p className="muted">
            The text says that it is a test of this HISP, names you, and has no patient data. It goes the way
            of every message; its page shows how far it comes.
          </p>
          <Command words={['message', 'test', from, to, requestFinalDelivery ? '--final' : undefined]} />
        </>
      )}
    </FormDialog>
  );
}
