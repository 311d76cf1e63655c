import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { IssuedSecret, NewClient } from '../../../app/console/contract/index.ts';
import { post, type ApiError } from '../../api/client.ts';
import { useDraft } from '../../api/use-draft.ts';
import { Command } from '../../components/command.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { ErrorState } from '../../components/states.tsx';
import { AddressesField, readAddresses } from '../../components/addresses-field.tsx';
import { OrganizationField, organizationOption } from '../../components/organization-field.tsx';
import { ScopeChoices, type Scope } from './scope-choices.tsx';
import { SecretOnce } from './secret-once.tsx';

/** The form's name among the drafts. */
export const newClientForm = 'new client';

interface Typed {
  readonly name: string;
  readonly chosen: readonly Scope[];
  readonly addresses: string;
  readonly hasAccepted: boolean;
  /** Empty: the operator's own. */
  readonly organization: string;
}

const nothingTyped: Typed = {
  name: '',
  // The others are given by name only.
  chosen: ['messaging.api', 'provider-directory'],
  addresses: '',
  hasAccepted: false,
  organization: '',
};

/** The form that creates a client and shows its secret once. */
export function NewClientDialog({
  of,
  onClose,
}: {
  /** What is chosen at first. */
  readonly of?: Pick<Typed, 'organization' | 'addresses'>;
  onClose(): void;
}): ReactNode {
  const [typed, setTyped, drop] = useDraft(newClientForm, { ...nothingTyped, ...of });
  const { name, chosen, addresses, hasAccepted, organization } = typed;
  const type = (change: Partial<Typed>): void => setTyped({ ...typed, ...change });
  const client = useQueryClient();
  const [, open] = useLocation();
  const create = useMutation<IssuedSecret, ApiError>({
    mutationFn: () =>
      post<IssuedSecret>('/clients', {
        name: name.trim(),
        scopes: [...chosen],
        directAddresses: readAddresses(addresses),
        ...(hasAccepted ? { hasAcceptedDataUse: true } : {}),
        ...(organization === '' ? {} : { organization }),
      } satisfies NewClient),
    onSuccess: () => {
      // A form that comes back would make the client again.
      drop();
      void client.invalidateQueries({ queryKey: ['clients'] });
    },
  });
  const issued = create.data;
  const problemOf = (field: string): string | undefined =>
    create.error?.problems.find((problem) => problem.field.startsWith(field))?.detail;
  const hasFieldProblem = problemOf('name') !== undefined || problemOf('directAddresses') !== undefined;
  if (issued !== undefined) {
    const show = (): void => {
      onClose();
      open(`/clients/${encodeURIComponent(issued.clientId)}`);
    };
    return (
      <Dialog title={`${name.trim()} is ready`} onClose={show}>
        <SecretOnce issued={issued} onDone={show} />
      </Dialog>
    );
  }
  return (
    <Dialog title="New client" onClose={onClose} isLocked={create.isPending}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <TextField
          label="Name"
          hint="for example the EHR and the clinic"
          required
          maxLength={200}
          value={name}
          onText={(text) => type({ name: text })}
          error={problemOf('name')}
        />
        <OrganizationField value={organization} onValue={(id) => type({ organization: id })} />
        <ScopeChoices chosen={chosen} onChosen={(next) => type({ chosen: next })} />
        <AddressesField
          text={addresses}
          onText={(text) => type({ addresses: text })}
          error={problemOf('directAddresses')}
        />
        <label className="choice">
          <input
            type="checkbox"
            checked={hasAccepted}
            onChange={(event) => type({ hasAccepted: event.currentTarget.checked })}
          />
          <span>It has accepted the data-use agreement of the directory</span>
        </label>
        <Command
          words={[
            'client',
            'create',
            name.trim() === '' ? 'NAME' : name.trim(),
            ...organizationOption(organization),
            '--scope',
            ...chosen,
            ...optionsOf('--address', readAddresses(addresses)),
            hasAccepted ? '--data-use-accepted' : undefined,
          ]}
        />
        {create.error !== null && !hasFieldProblem && <ErrorState error={create.error} />}
        <div className="dialog-actions">
          <button type="button" disabled={create.isPending} onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className="primary"
            disabled={create.isPending || chosen.length === 0 || name.trim() === ''}
          >
            {create.isPending ? 'Creating' : 'Create'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const optionsOf = (option: string, values: readonly string[]): readonly string[] =>
  values.length === 0 ? [] : [option, ...values];
