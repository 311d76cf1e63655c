import { useState, type ReactNode } from 'react';
import type { AddressAnswer, AddressDetails, NewForwarding } from '../../../app/console/contract/index.ts';
import { put } from '../../api/client.ts';
import { Address } from '../../components/address.tsx';
import { AddressesField, readAddresses } from '../../components/addresses-field.tsx';
import { Command } from '../../components/command.tsx';
import { DateField } from '../../components/date-field.tsx';
import { Field } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { StateMark } from '../../components/states.tsx';
import { Time, toLocal } from '../../components/time.tsx';

type Rule = NonNullable<AddressDetails['forwarding']>;

/** Who gets what comes for an address, in a line. */
export function Forwarding({
  rule: { deliverTo, keepsCopy, from, until },
}: {
  readonly rule: Rule;
}): ReactNode {
  return (
    <p className="row">
      <StateMark tone="none">forwarded</StateMark>
      <span>
        to {deliverTo.join(', ')}
        {keepsCopy && ', with a copy here'}
        {from !== null && (
          <>
            , from <Time at={from} as="zoned" />
          </>
        )}
        {until !== null && (
          <>
            , until <Time at={until} as="zoned" />
          </>
        )}
      </span>
    </p>
  );
}

/** Delivers what comes for an address to others: a shared address, forwarding, or an absence. */
export function ForwardDialog({
  address,
  domain,
  before,
  onDone,
  onClose,
}: {
  readonly address: string;
  readonly domain: string;
  readonly before: AddressDetails['forwarding'];
  readonly onDone: (answer: AddressAnswer) => void;
  readonly onClose: () => void;
}): ReactNode {
  const [text, setText] = useState(before?.deliverTo.join('\n') ?? '');
  const [keepsCopy, setKeepsCopy] = useState(before?.keepsCopy ?? false);
  const [from, setFrom] = useState(toLocal(before?.from ?? ''));
  const [until, setUntil] = useState(toLocal(before?.until ?? ''));
  const deliverTo = readAddresses(text).map((one) => (one.includes('@') ? one : `${one}@${domain}`));
  const isEnd = deliverTo.length === 0;
  const times = { ...timeOf('from', from), ...timeOf('until', until) };
  return (
    <FormDialog<AddressAnswer>
      title="Forward mail"
      action={isEnd && before !== null ? 'End the forwarding' : 'Save'}
      fields={['deliverTo', 'from', 'until']}
      canSend={!isEnd || before !== null}
      send={() =>
        put<AddressAnswer>(`/addresses/${encodeURIComponent(address)}/forwarding`, {
          deliverTo,
          keepsCopy,
          ...times,
        } satisfies NewForwarding)
      }
      onDone={onDone}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <p>
            Mail for <Address of={address} />
          </p>
          <AddressesField
            label="Who gets it"
            hint={`one per line, of the same organization; the part before @${domain} is enough${before === null ? '' : '; none ends the forwarding'}`}
            rows={2}
            text={text}
            onText={setText}
            error={problemOf('deliverTo')}
          />
          <label className="choice">
            <input
              type="checkbox"
              checked={keepsCopy}
              onChange={(event) => setKeepsCopy(event.currentTarget.checked)}
            />
            <span>The address gets it, too</span>
          </label>
          <Field label="From" hint="empty: from now on" error={problemOf('from')}>
            {(tie) => <DateField {...tie} withTime isAhead value={from} onValue={setFrom} />}
          </Field>
          <Field label="Until" hint="empty: for good" error={problemOf('until')}>
            {(tie) => <DateField {...tie} withTime isAhead value={until} onValue={setUntil} />}
          </Field>
          <p className="muted">What has come already stays where it is.</p>
          <Command
            words={[
              'address',
              'forward',
              address,
              ...(isEnd ? ['--end'] : ['--to', ...deliverTo]),
              ...(isEnd ? [] : Object.entries(times).flatMap(([name, time]) => [`--${name}`, time])),
              !isEnd && keepsCopy ? '--keep-copy' : undefined,
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}

function timeOf(name: 'from' | 'until', local: string): Readonly<Partial<Record<typeof name, string>>> {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? {} : { [name]: at.toISOString() };
}
