import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type { ApiError } from '../api/client.ts';
import { useAnnounce } from './announce.tsx';
import { Command } from './command.tsx';
import { Copy, CopyValue } from './copy.tsx';
import { Confirm, Dialog } from './dialog.tsx';
import { Facts, Section } from './screen.tsx';
import { ErrorState, StateMark } from './states.tsx';
import { Time } from './time.tsx';

/** What cannot be shown again: a secret, a password or a link. */
export function ShownOnce({
  noun,
  values,
  note = 'Hand it over by a safe way; only its hash is kept here.',
  id,
  copy,
  onDone,
}: {
  readonly noun: string;
  /** To copy one by one. */
  readonly values: readonly (readonly [name: string, value: string])[];
  readonly note?: ReactNode;
  /** Names it in lists; it grants no access. */
  readonly id?: readonly [name: string, value: string];
  /** The label and text of the button that copies all. */
  readonly copy: readonly [label: string, text: string];
  onDone(): void;
}): ReactNode {
  return (
    <div className="stack">
      <p>
        <StateMark tone="warning">{`The ${noun} is shown this once.`}</StateMark> {note}
      </p>
      <Facts
        facts={[
          ...values.map(
            ([name, value]) =>
              [name, <CopyValue key={name} value={value} label={name.toLowerCase()} />] as const,
          ),
          ...(id === undefined ? [] : [[id[0], <code key="id">{id[1]}</code>] as const]),
        ]}
      />
      <div className="dialog-actions">
        <Copy text={copy[1]} label={copy[0]} />
        <button type="button" className="primary" onClick={onDone}>
          I have saved it
        </button>
      </div>
    </div>
  );
}

/** Two, so that a program can change from one to the other without a gap. */
const maxSecrets = 2;

/** The secrets or passwords of a program: another is issued and shown once, an old one revoked. */
export function SecretSection<Issued>({
  noun,
  entries,
  mayChange,
  isLastKept = false,
  issue,
  issueCommand,
  once,
  revoke,
  revokeCommand,
  describeRevoking,
  onChange,
}: {
  /** `secret`, `password` */
  readonly noun: string;
  readonly entries: readonly { readonly id: string; readonly createdAt: string }[];
  readonly mayChange: boolean;
  /** True if the last one is not revoked. */
  readonly isLastKept?: boolean;
  readonly issue: () => Promise<Issued>;
  readonly issueCommand: readonly string[];
  readonly once: (issued: Issued, onDone: () => void) => ReactNode;
  /** Returns the sentence that says what was done. */
  readonly revoke: (id: string, isOnly: boolean) => Promise<string>;
  readonly revokeCommand: (id: string, isOnly: boolean) => readonly string[];
  readonly describeRevoking: (isOnly: boolean) => string;
  /** Reads the entries again. */
  readonly onChange: () => Promise<void>;
}): ReactNode {
  const [ending, setEnding] = useState<string>();
  const announce = useAnnounce();
  const issuing = useMutation<Issued, ApiError>({
    mutationFn: issue,
    // The secret does not wait for it.
    onSuccess: () => void onChange(),
  });
  const isOnly = entries.every(({ id }) => id === ending);
  return (
    <Section
      title={`${noun[0]?.toUpperCase()}${noun.slice(1)}s`}
      note="At most two, so that a program can change over without a gap."
      actions={
        mayChange && (
          <button
            type="button"
            disabled={issuing.isPending || entries.length >= maxSecrets}
            onClick={() => issuing.mutate()}
          >
            Issue another
          </button>
        )
      }
    >
      {issuing.error !== null && <ErrorState error={issuing.error} />}
      <ul className="secrets">
        {entries.map(({ id, createdAt }) => (
          <li key={id}>
            <code>{id}</code>
            <span className="faint">
              issued <Time at={createdAt} as="zoned" />
            </span>
            {mayChange && (!isLastKept || entries.length > 1) && (
              <button type="button" onClick={() => setEnding(id)} aria-label={`Revoke ${noun} ${id}`}>
                Revoke
              </button>
            )}
          </li>
        ))}
      </ul>
      {mayChange && <Command words={issueCommand} />}
      {issuing.data !== undefined && (
        <Dialog title={`A new ${noun}`} onClose={() => issuing.reset()}>
          {once(issuing.data, () => issuing.reset())}
        </Dialog>
      )}
      {ending !== undefined && (
        <Confirm
          title={`Revoke this ${noun}`}
          action="Revoke"
          isDangerous
          preview={async () => ending}
          render={(shown) => (
            <>
              <p>{describeRevoking(isOnly)}</p>
              <Command words={revokeCommand(shown, isOnly)} />
            </>
          )}
          onConfirm={async (shown) => {
            const text = await revoke(shown, isOnly);
            announce({ text });
            await onChange();
          }}
          onClose={() => setEnding(undefined)}
        />
      )}
    </Section>
  );
}
