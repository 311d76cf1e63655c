import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { DoneAnswer, InboundRow } from '../../../app/console/contract/index.ts';
import { post } from '../../api/client.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Confirm } from '../../components/dialog.tsx';

/** A dead letter, before it is retried. */
export function ConfirmRetry({
  row,
  onDone,
  onClose,
}: {
  readonly row: InboundRow;
  readonly onDone?: () => void;
  readonly onClose: () => void;
}): ReactNode {
  const announce = useAnnounce();
  const client = useQueryClient();
  return (
    <Confirm
      title="Retry this mail?"
      action="Retry"
      preview={() => Promise.resolve(row)}
      render={({ from, to, text }) => (
        <>
          <p>
            From {from === '' ? 'the null sender' : from} to {to.join(', ')}.
          </p>
          <p className="muted">{text}</p>
          <p>It is decrypted and verified again, as if it had just arrived.</p>
          <Command words={['mail', 'retry', row.id]} />
        </>
      )}
      onConfirm={async () => {
        const { sentence } = await post<DoneAnswer>(`/inbound/${encodeURIComponent(row.id)}/retry`);
        announce({ text: sentence });
        await client.invalidateQueries({ queryKey: ['inbound'] });
        onDone?.();
      }}
      onClose={onClose}
    />
  );
}
