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
import { SelectField, TextField } from './fields.tsx';
import { FormDialog } from './form-dialog.tsx';
import { StateMark } from './states.tsx';
import { Time } from './time.tsx';

/** What keeps mail from retention. */
export function LegalHolds({
  holds,
  onChanged,
}: {
  readonly holds: readonly LegalHold[];
  readonly onChanged: () => void;
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
          {mayChange && (
            <button type="button" onClick={() => setReleased(hold)}>
              Release
            </button>
          )}
        </p>
      ))}
      {released !== undefined && (
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

type Subject = Pick<NewLegalHold, 'kind' | 'name'>;
type Subjects = readonly [Subject, ...Subject[]];

/** A message first, or all mail of its sender or of a recipient. */
export const subjectsOf = ({ messageId, from, recipients }: MessageDetails): Subjects => [
  { kind: 'message', name: messageId },
  ...[...new Set([from, ...recipients.map(({ address }) => address)])]
    .filter((name) => name !== '')
    .map((name) => ({ kind: 'address', name }) as const),
];

const subjectWords = {
  message: () => 'this message',
  address: (name) => `all mail from and to ${name}`,
  organization: () => 'all mail from and to the addresses of this organization',
} as const satisfies Record<NewLegalHold['kind'], (name: string) => string>;

const wordsOf = ({ kind, name }: Subject): string => subjectWords[kind](name);

interface AddProps {
  /** The first is chosen at first. */
  readonly subjects: Subjects;
  readonly onDone: () => void;
}

/** Puts one of the subjects on legal hold, for who may. */
export function AddLegalHold(props: AddProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  if (!useMay('legal-hold.change')) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Legal hold
      </button>
      {isOpen && <AddDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function AddDialog({
  subjects,
  onDone,
  onClose,
}: AddProps & {
  readonly onClose: () => void;
}): ReactNode {
  const announce = useAnnounce();
  const [reason, setReason] = useState('');
  const [{ kind, name }, setSubject] = useState(subjects[0]);
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
          {subjects.length === 1 ? (
            <p>Retention deletes nothing of {wordsOf(subjects[0])} until the hold is released.</p>
          ) : (
            <SelectField
              label="What is kept"
              options={subjects.map((one) => [one.name, wordsOf(one)])}
              value={name}
              onValue={(chosen) => setSubject(subjects.find((one) => one.name === chosen) ?? subjects[0])}
            />
          )}
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
