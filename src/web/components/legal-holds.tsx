import { useState, type ReactNode } from 'react';
import type {
  LegalHold,
  LegalHoldRelease,
  MessageDetails,
  NewLegalHold,
} from '../../app/console/contract/index.ts';
import { post } from '../api/client.ts';
import { useMay } from '../api/session.ts';
import { useAnnounce } from './announce.tsx';
import { Command } from './command.tsx';
import { Field, TextField } from './fields.tsx';
import { FormDialog } from './form-dialog.tsx';
import { StateMark } from './states.tsx';
import { Time } from './time.tsx';

/** What keeps a message or an address from retention; with `onChanged` for who may release it. */
export function LegalHolds({
  holds,
  onChanged,
}: {
  readonly holds: readonly LegalHold[];
  readonly onChanged?: () => void;
}): ReactNode {
  const mayChange = useMay('legal-hold.change');
  const [released, setReleased] = useState<LegalHold>();
  return (
    <>
      {holds.map((hold) => (
        <p className="row" key={hold.id}>
          <StateMark tone="warning">on legal hold</StateMark>
          <span>
            {hold.kind !== 'message' && <>all mail of {hold.subject}, </>}since <Time at={hold.since} /> by{' '}
            {hold.author}: {hold.reason}
          </span>
          {mayChange && onChanged !== undefined && (
            <button type="button" onClick={() => setReleased(hold)}>
              Release
            </button>
          )}
        </p>
      ))}
      {released !== undefined && onChanged !== undefined && (
        <Release hold={released} onClose={() => setReleased(undefined)} onDone={onChanged} />
      )}
    </>
  );
}

function Release({
  hold,
  onClose,
  onDone,
}: {
  readonly hold: LegalHold;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): ReactNode {
  const announce = useAnnounce();
  const [reason, setReason] = useState('');
  return (
    <FormDialog<LegalHold>
      title="Release the legal hold?"
      action="Release"
      fields={['reason']}
      canSend={reason.trim() !== ''}
      send={() =>
        post<LegalHold>(`/legal-holds/${hold.id}/release`, {
          reason: reason.trim(),
        } satisfies LegalHoldRelease)
      }
      onDone={() => {
        announce({ text: 'The legal hold is released.' });
        onDone();
        onClose();
      }}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <p>
            {hold.kind !== 'message'
              ? `Retention may delete the old mail of ${hold.subject} within minutes.`
              : 'Retention may delete the message within minutes, if it is old.'}
          </p>
          <TextField
            label="Reason of the release"
            required
            maxLength={500}
            value={reason}
            onText={setReason}
            error={problemOf('reason')}
          />
          <Command words={['legal-hold', 'release', hold.id, '--reason', reason.trim()]} />
        </>
      )}
    </FormDialog>
  );
}

/** Puts a message, or all mail of its sender or of a recipient, on legal hold. */
export function AddLegalHold({
  message,
  onClose,
  onDone,
}: {
  readonly message: MessageDetails;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): ReactNode {
  const announce = useAnnounce();
  const [reason, setReason] = useState('');
  const addresses = [...new Set([message.from, ...message.recipients.map(({ address }) => address)])].filter(
    (address) => address !== '',
  );
  const [what, setWhat] = useState('');
  const kind = what === '' ? 'message' : 'address';
  const name = what === '' ? message.messageId : what;
  return (
    <FormDialog<LegalHold>
      title="Put on legal hold"
      action="Put on legal hold"
      fields={['reason']}
      canSend={reason.trim() !== ''}
      send={() =>
        post<LegalHold>('/legal-holds', { kind, name, reason: reason.trim() } satisfies NewLegalHold)
      }
      onDone={() => {
        announce({ text: 'It is on legal hold: retention deletes nothing of it.' });
        onDone();
        onClose();
      }}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <Field label="What is kept">
            {(tie) => (
              <select {...tie} value={what} onChange={(event) => setWhat(event.currentTarget.value)}>
                <option value="">this message</option>
                {addresses.map((address) => (
                  <option key={address} value={address}>
                    all mail from and to {address}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <TextField
            label="Reason"
            hint="for other operators; no names of patients"
            required
            maxLength={500}
            value={reason}
            onText={setReason}
            error={problemOf('reason')}
          />
          <Command words={['legal-hold', 'add', kind, name, '--reason', reason.trim()]} />
        </>
      )}
    </FormDialog>
  );
}
