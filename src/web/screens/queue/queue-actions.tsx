import { useQueryClient } from '@tanstack/react-query';
import { useId, useState, type ReactNode } from 'react';
import type {
  QueueAction,
  QueueActionAnswer,
  QueueActionRequest,
} from '../../../app/console/contract/index.ts';
import { ask, post } from '../../api/client.ts';
import { useMay } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { DateField } from '../../components/date-field.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Field } from '../../components/fields.tsx';
import { formatNumber } from '../../components/time.tsx';

type Target = Pick<QueueActionRequest, 'destinations' | 'deliveries'> & {
  /** Of the deliveries. */
  readonly messageIds?: readonly string[];
};

const words: Readonly<Record<QueueAction, { readonly name: string; readonly title: string }>> = {
  retry: { name: 'Retry now', title: 'Retry now?' },
  hold: { name: 'Hold', title: 'Hold deliveries?' },
  release: { name: 'Release', title: 'Release deliveries?' },
  fail: { name: 'Fail', title: 'Fail these deliveries?' },
};

/** Buttons for actions on the selection; each shows a preview first. */
export function QueueActions({
  actions,
  target,
  selected,
  onDone,
}: {
  readonly actions: readonly QueueAction[];
  readonly target: Target;
  /** The number of selected rows, for the label of the group. */
  readonly selected?: number;
  readonly onDone: () => void;
}): ReactNode {
  const mayChange = useMay('messages.change');
  const [action, setAction] = useState<QueueAction>();
  if (!mayChange) return null;
  return (
    <div
      className="actions"
      role="group"
      aria-label={selected === undefined ? 'Actions' : `${selected} selected`}
    >
      {selected !== undefined && <span className="picked-count">{formatNumber(selected)} selected</span>}
      {actions.map((name) => (
        <button key={name} type="button" onClick={() => setAction(name)}>
          {words[name].name}
        </button>
      ))}
      {action !== undefined && (
        <ConfirmAction action={action} target={target} onClose={() => setAction(undefined)} onDone={onDone} />
      )}
    </div>
  );
}

/** More than a dialog has room for are not shown. */
const maxCommands = 4;

/** One for each destination; single deliveries are retried and ended by the commands of their messages. */
function commandsFor(
  action: QueueAction,
  { destinations = [], messageIds = [] }: Target,
  { reason, end }: { readonly reason: string; readonly end: string | undefined },
): readonly (readonly string[])[] {
  const commands = [
    ...destinations.map((domain) => [
      'queue',
      action,
      domain,
      ...(action === 'hold' ? ['--reason', reason.trim() || 'REASON'] : []),
      ...(end === undefined ? [] : ['--until', end]),
    ]),
    ...messageIds.map((id) => ['message', action, id]),
  ];
  return commands.length > maxCommands ? [] : commands;
}

function ConfirmAction({
  action,
  target,
  onClose,
  onDone,
}: {
  readonly action: QueueAction;
  readonly target: Target;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): ReactNode {
  const announce = useAnnounce();
  const client = useQueryClient();
  const [reason, setReason] = useState('');
  const [until, setUntil] = useState('');
  const reasonId = useId();
  const end = until === '' ? undefined : new Date(until).toISOString();
  const { messageIds, ...chosen } = target;
  const request = { action, ...chosen };
  const run = (shown?: QueueActionAnswer): Promise<QueueActionAnswer> =>
    (shown === undefined ? ask : post)<QueueActionAnswer>('/queue/actions', {
      ...request,
      // The preview of a hold does not need the reason, which is not written yet.
      ...(action === 'hold' && {
        reason: shown === undefined ? '-' : reason.trim(),
        ...(end !== undefined && { until: end }),
      }),
      // Only what the preview counted fails.
      ...(shown !== undefined && { upTo: shown.upTo }),
      preview: shown === undefined,
    } satisfies QueueActionRequest);
  return (
    <Confirm
      title={words[action].title}
      action={words[action].name}
      isDangerous={action === 'fail'}
      preview={() => run()}
      canConfirm={() => action !== 'hold' || reason.trim() !== ''}
      render={(answer) => (
        <>
          <p>{answer.sentence}</p>
          {answer.items.length > 0 && (
            <table className="preview">
              <caption className="visually-hidden">Changes by destination</caption>
              <thead>
                <tr>
                  <th scope="col">Destination</th>
                  <th scope="col" data-align="end">
                    Deliveries
                  </th>
                  <th scope="col" data-align="end">
                    Recipients
                  </th>
                </tr>
              </thead>
              <tbody>
                {answer.items.map(({ domain, deliveries, recipients }) => (
                  <tr key={domain}>
                    <td>{domain}</td>
                    <td data-align="end">{formatNumber(deliveries)}</td>
                    <td data-align="end">{formatNumber(recipients)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          {answer.running > 0 && (
            <p className="muted">{formatNumber(answer.running)} being tried at this moment are left alone.</p>
          )}
          {action === 'hold' && (
            <>
              <div className="field">
                <label htmlFor={reasonId}>Reason</label>
                <input
                  id={reasonId}
                  type="text"
                  required
                  maxLength={200}
                  placeholder="for other operators"
                  value={reason}
                  onChange={(event) => setReason(event.currentTarget.value)}
                />
              </div>
              <Field label="Until" hint="empty: until it is released">
                {(tie) => <DateField {...tie} withTime isAhead value={until} onValue={setUntil} />}
              </Field>
            </>
          )}
          {commandsFor(action, target, { reason, end }).map((command, index) => (
            <Command
              key={command.join(' ')}
              words={command}
              {...(index > 0
                ? { label: 'And' }
                : messageIds !== undefined && { label: 'The same for the whole message, as a command' })}
            />
          ))}
        </>
      )}
      onConfirm={async (shown) => {
        const { sentence } = await run(shown);
        announce({ text: sentence });
        await client.invalidateQueries({ queryKey: ['queue'] });
        onDone();
      }}
      onClose={onClose}
    />
  );
}
