import { startRegistration, type PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/browser';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type { OwnPasskey, OwnPasskeyList } from '../../../app/console/contract/index.ts';
import { ask, get, patch, post, remove, type ApiError } from '../../api/client.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Table, type Column } from '../../components/data-table.tsx';
import { TextField } from '../../components/fields.tsx';
import { Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { FreshDialog } from '../sign-in/fresh-dialog.tsx';

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
    <FreshDialog
      title="Add a passkey"
      action="Create the passkey"
      onDone={useDone('The passkey has been added.', onClose)}
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
    </FreshDialog>
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
    <FreshDialog
      title="Name the passkey"
      action="Save"
      onDone={useDone('The passkey has its name.', onClose)}
      onClose={onClose}
      work={() => patch(passkeyPath(passkey), { name })}
    >
      <TextField label="Name" required maxLength={60} value={name} onText={setName} />
    </FreshDialog>
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
    <FreshDialog
      title="Remove the passkey"
      action="Remove"
      isDangerous
      onDone={useDone('The passkey has been removed.', onClose)}
      onClose={onClose}
      work={() => remove(passkeyPath(passkey))}
    >
      <p>
        <b>{nameOf(passkey)}</b> will no longer sign you in. Sessions continue; if the device is lost, sign
        out everywhere as well.
      </p>
    </FreshDialog>
  );
}

/** After a change: says so, and reads the list again. */
function useDone(text: string, onClose: () => void): () => Promise<void> {
  const queries = useQueryClient();
  const announce = useAnnounce();
  return async () => {
    announce({ text });
    await queries.invalidateQueries({ queryKey: passkeysKey });
    onClose();
  };
}
