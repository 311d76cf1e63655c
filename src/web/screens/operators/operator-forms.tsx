import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import type {
  DoneAnswer,
  NewOperator,
  OperatorChange,
  OperatorEntry,
  OperatorLink,
  OrganizationList,
  Role,
} from '../../../app/console/contract/index.ts';
import { patch, post, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, TextField, type Option } from '../../components/fields.tsx';
import { ShownOnce } from '../../components/secrets.tsx';
import { Time } from '../../components/time.tsx';
import { FreshDialog } from '../sign-in/fresh-dialog.tsx';

/** By whether the operator is one of an organization. */
const roleOptions = (organization: string | null): readonly Option[] =>
  organization === null ? wholeRoles : organizationRoles;

const organizationRoles: readonly Option[] = [
  ['help-desk', 'help desk: find, retry'],
  ['administrator', 'administrator: change what is its'],
  ['auditor', 'auditor: read what is its'],
];

const wholeRoles: readonly Option[] = [
  ['help-desk', 'help desk: find, retry, check'],
  ['operator', 'operator: read and change all'],
  ['auditor', 'auditor: read and export all'],
];

export const operatorPath = (name: string): string => `/operators/${encodeURIComponent(name)}`;

/** Creates an operator and shows the link by which they register a passkey. */
export function NewOperatorDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('help-desk');
  const [organization, setOrganization] = useState('');
  const organizations = useQuery<OrganizationList, ApiError>({
    queryKey: ['clients', 'organizations'],
    queryFn: readView('/organizations'),
  });
  const [made, setMade] = useState<OperatorLink>();
  const queries = useQueryClient();
  const [, open] = useLocation();
  if (made !== undefined) {
    const show = (): void => {
      onClose();
      open(operatorPath(made.name));
    };
    return (
      <Dialog title={`${made.name} may come in`} onClose={show}>
        <LinkOnce made={made} onDone={show} />
      </Dialog>
    );
  }
  return (
    <FreshDialog<OperatorLink>
      title="New operator"
      action="Create"
      work={() =>
        post<OperatorLink>('/operators', {
          name: name.trim(),
          role,
          ...(organization !== '' && { organization }),
        } satisfies NewOperator)
      }
      onDone={(answer) => {
        setMade(answer);
        void queries.invalidateQueries({ queryKey: ['operators'] });
      }}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="as it will stand in the audit trail"
        required
        maxLength={80}
        value={name}
        onText={setName}
      />
      <SelectField
        label="Sees"
        value={organization}
        onValue={(value) => {
          setOrganization(value);
          setRole('help-desk');
        }}
        options={[
          ['', 'everything'],
          ...(organizations.data?.result ?? [])
            .filter(({ isOpen, isBuiltIn }) => isOpen && !isBuiltIn)
            .map((one): Option => [one.id, `only ${one.name}`]),
        ]}
      />
      <RoleField role={role} organization={organization || null} onRole={setRole} />
      <Command
        words={[
          'operator',
          'create',
          name.trim() || 'NAME',
          '--role',
          role,
          ...(organization === '' ? [] : ['--organization', organization]),
        ]}
      />
    </FreshDialog>
  );
}

/** Gives an operator another role. */
export function RoleDialog({
  operator,
  onClose,
}: {
  readonly operator: OperatorEntry;
  readonly onClose: () => void;
}): ReactNode {
  const [role, setRole] = useState<Role>(operator.role);
  const done = useDone(onClose);
  return (
    <FreshDialog<DoneAnswer>
      title={`The role of ${operator.name}`}
      action="Save"
      work={() => patch<DoneAnswer>(operatorPath(operator.name), { role } satisfies OperatorChange)}
      onDone={done}
      onClose={onClose}
    >
      <RoleField role={role} organization={operator.organization} onRole={setRole} />
      <p className="muted">It counts from the next request on; open streams end.</p>
      <Command words={['operator', 'role', operator.name, role]} />
    </FreshDialog>
  );
}

/** Makes a new link by which an operator registers a passkey, and shows it. */
export function LinkDialog({
  operator,
  onClose,
}: {
  readonly operator: OperatorEntry;
  readonly onClose: () => void;
}): ReactNode {
  const [made, setMade] = useState<OperatorLink>();
  if (made !== undefined)
    return (
      <Dialog title={`A link for ${made.name}`} onClose={onClose}>
        <LinkOnce made={made} onDone={onClose} />
      </Dialog>
    );
  return (
    <FreshDialog<OperatorLink>
      title={`A new link for ${operator.name}`}
      action="Make the link"
      work={() => post<OperatorLink>(`${operatorPath(operator.name)}/link`)}
      onDone={setMade}
      onClose={onClose}
    >
      <p>
        With it {operator.name} registers a passkey, once, within 24 hours. A link that was made before and
        not used ends. Passkeys that were registered stay.
      </p>
      <Command words={['operator', 'link', operator.name]} />
    </FreshDialog>
  );
}

/** Allows a disabled operator to sign in again. */
export function EnableDialog({
  operator,
  onClose,
}: {
  readonly operator: OperatorEntry;
  readonly onClose: () => void;
}): ReactNode {
  const done = useDone(onClose);
  return (
    <FreshDialog<DoneAnswer>
      title={`Enable ${operator.name}`}
      action="Enable"
      work={() => post<DoneAnswer>(`${operatorPath(operator.name)}/enable`)}
      onDone={done}
      onClose={onClose}
    >
      <p>
        {operator.isExternal
          ? 'The OpenID provider signs them in again, with the role that it says.'
          : 'They can sign in again with the passkeys that they had.'}
      </p>
      <Command words={['operator', 'enable', operator.name]} />
    </FreshDialog>
  );
}

function RoleField({
  role,
  organization,
  onRole,
}: {
  readonly role: Role;
  readonly organization: string | null;
  readonly onRole: (role: Role) => void;
}): ReactNode {
  return (
    <SelectField
      label="Role"
      options={roleOptions(organization)}
      value={role}
      onValue={(value) => onRole(value as Role)}
    />
  );
}

function LinkOnce({ made, onDone }: { readonly made: OperatorLink; readonly onDone: () => void }): ReactNode {
  return (
    <ShownOnce
      noun="link"
      note={
        <>
          It registers a passkey for {made.name}, once, until <Time at={made.endsAt} as="zoned" />. Whoever
          has it can use it: send it by a safe way.
        </>
      }
      values={[['Link', made.link]]}
      copy={['Copy the link', made.link]}
      onDone={onDone}
    />
  );
}

/** After a change: says what was done, and reads the operators again. */
function useDone(onClose: () => void): (done: DoneAnswer) => void {
  const queries = useQueryClient();
  const announce = useAnnounce();
  return ({ sentence }) => {
    announce({ text: sentence });
    void queries.invalidateQueries({ queryKey: ['operators'] });
    onClose();
  };
}
