import {
  startAuthentication,
  startRegistration,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type { OwnPasskey, OwnPasskeyList, SignedIn } from '../../../app/console/contract/index.ts';
import { ApiError, ask, get, patch, post, remove } from '../../api/client.ts';
import { sessionKey, useSession } from '../../api/session.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Table, type Column } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { passkeyFault } from '../sign-in/passkey-fault.ts';

const passkeysKey = ['passkeys'] as const;
const passkeyPath = ({ id }: OwnPasskey): string => `/passkeys/${encodeURIComponent(id)}`;
const nameOf = ({ name }: OwnPasskey): string => name || 'Unnamed';

type OpenDialog =
  | { readonly kind: 'add' }
  | { readonly kind: 'name' | 'remove'; readonly passkey: OwnPasskey };

/** The passkeys of this operator, with actions that add, name and remove them. */
export function PasskeySection({ suggestedName }: { readonly suggestedName: string }): ReactNode {
  const [open, setOpen] = useState<OpenDialog>();
  const list = useQuery<OwnPasskeyList, ApiError>({
    queryKey: passkeysKey,
    queryFn: ({ signal }) => get<OwnPasskeyList>('/passkeys', {}, signal),
  });
  const canChange = list.data?.canChange === true;
  const close = (): void => setOpen(undefined);
  const columns: readonly Column<OwnPasskey>[] = [
    {
      name: 'Name',
      cell: (passkey) => (
        <>
          {nameOf(passkey)}{' '}
          <span className="sub">{passkey.isBackedUp ? 'synchronized' : 'on one device'}</span>
        </>
      ),
    },
    { name: 'Added', from: 'medium', cell: ({ createdAt }) => <Time at={createdAt} as="day" /> },
    {
      name: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
    },
    {
      name: 'Action',
      isPlain: true,
      align: 'end',
      cell: (passkey) =>
        canChange && (
          <>
            <button type="button" data-row="" onClick={() => setOpen({ kind: 'name', passkey })}>
              Name<span className="visually-hidden"> {nameOf(passkey)}</span>
            </button>{' '}
            <button type="button" onClick={() => setOpen({ kind: 'remove', passkey })}>
              Remove<span className="visually-hidden"> {nameOf(passkey)}</span>
            </button>
          </>
        ),
    },
  ];
  return (
    <Section
      title="Passkeys"
      actions={
        canChange &&
        list.data?.result.length !== 0 && (
          <button type="button" onClick={() => setOpen({ kind: 'add' })}>
            Add a passkey
          </button>
        )
      }
    >
      {list.isPending && <LoadingState lines={2} />}
      {list.data === undefined && list.isError && (
        <ErrorState error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.data?.result.length === 0 && (
        <EmptyState title="No passkey">
          {canChange ? (
            <p>
              The first passkey is registered with an enrolment link: <code>openhisp operator link</code>.
            </p>
          ) : (
            <p>Your organization signs you in.</p>
          )}
        </EmptyState>
      )}
      {list.data !== undefined && list.data.result.length > 0 && (
        <Table
          caption="Passkeys of this operator"
          columns={columns}
          rows={list.data.result}
          idOf={({ id }) => id}
        />
      )}
      {open?.kind === 'add' && <AddDialog suggestedName={suggestedName} onClose={close} />}
      {open?.kind === 'name' && <NameDialog passkey={open.passkey} onClose={close} />}
      {open?.kind === 'remove' && <RemoveDialog passkey={open.passkey} onClose={close} />}
    </Section>
  );
}

function AddDialog({
  suggestedName,
  onClose,
}: {
  readonly suggestedName: string;
  readonly onClose: () => void;
}): ReactNode {
  const [name, setName] = useState(suggestedName);
  return (
    <PasskeyDialog
      title="Add a passkey"
      action="Create the passkey"
      done="The passkey has been added."
      onClose={onClose}
      work={async () => {
        const optionsJSON = await ask<PublicKeyCredentialCreationOptionsJSON>('/passkeys/options');
        const response = await startRegistration({ optionsJSON });
        await post('/passkeys', { name, response });
      }}
    >
      <TextField
        label="Name"
        hint="by which you recognize the device"
        required
        maxLength={60}
        value={name}
        onText={setName}
      />
    </PasskeyDialog>
  );
}

function NameDialog({
  passkey,
  onClose,
}: {
  readonly passkey: OwnPasskey;
  readonly onClose: () => void;
}): ReactNode {
  const [name, setName] = useState(passkey.name);
  return (
    <PasskeyDialog
      title="Name the passkey"
      action="Save"
      done="The passkey has its name."
      onClose={onClose}
      work={() => patch(passkeyPath(passkey), { name })}
    >
      <TextField label="Name" required maxLength={60} value={name} onText={setName} />
    </PasskeyDialog>
  );
}

function RemoveDialog({
  passkey,
  onClose,
}: {
  readonly passkey: OwnPasskey;
  readonly onClose: () => void;
}): ReactNode {
  return (
    <PasskeyDialog
      title="Remove the passkey"
      action="Remove"
      isDangerous
      done="The passkey has been removed."
      onClose={onClose}
      work={() => remove(passkeyPath(passkey))}
    >
      <p>
        <b>{nameOf(passkey)}</b> will no longer sign you in. Sessions continue; if the device is lost, sign
        out everywhere as well.
      </p>
    </PasskeyDialog>
  );
}

const isStale = (error: Error): boolean =>
  error instanceof ApiError && error.problems.some(({ reason }) => reason === 'operators_sign_in_stale');

/**
 * A form whose action may ask for the passkey first; each use of a passkey has its own button, as browsers
 * require.
 */
function PasskeyDialog({
  title,
  action,
  done,
  isDangerous = false,
  work,
  onClose,
  children,
}: {
  readonly title: string;
  readonly action: string;
  /** The sentence after the action. */
  readonly done: string;
  readonly isDangerous?: boolean;
  readonly work: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const client = useQueryClient();
  const announce = useAnnounce();
  const { operator } = useSession();
  const act = useMutation<unknown, Error>({
    mutationFn: work,
    onSuccess: async () => {
      announce({ text: done });
      await client.invalidateQueries({ queryKey: passkeysKey });
      onClose();
    },
  });
  const confirm = useMutation<SignedIn, Error>({
    mutationFn: async () => {
      const optionsJSON = await ask<PublicKeyCredentialRequestOptionsJSON>('/sign-in/passkey/options');
      const response = await startAuthentication({ optionsJSON });
      return ask<SignedIn>('/sign-in/passkey/verify', response);
    },
    onSuccess: async (signedIn) => {
      act.reset();
      // A passkey of somebody else signs them in instead: nothing of the former operator may stay on the
      // page.
      if (signedIn.operator.id !== operator.id) return location.reload();
      for (const queryKey of [sessionKey, ['sessions'], passkeysKey])
        await client.invalidateQueries({ queryKey });
    },
  });
  const mustConfirm = act.error !== null && isStale(act.error);
  const fault = mustConfirm ? confirm.error : act.error;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (mustConfirm) confirm.mutate();
          else act.mutate();
        }}
      >
        {mustConfirm ? (
          <p role="status">
            Confirm with one of your passkeys first. Then you can change them for five minutes.
          </p>
        ) : (
          children
        )}
        {fault !== null && <ErrorState error={new Error(passkeyFault(fault))} />}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className={isDangerous && !mustConfirm ? 'danger' : 'primary'}
            disabled={act.isPending || confirm.isPending}
          >
            {mustConfirm ? 'Confirm with a passkey' : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
