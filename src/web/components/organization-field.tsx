import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { OrganizationList } from '../../app/console/contract/index.ts';
import type { ApiError } from '../api/client.ts';
import { readView } from '../api/pages.ts';
import { SelectField } from './fields.tsx';

/** Whose something new is; nothing to choose while there is only the operator's own. Empty: that one. */
export function OrganizationField({
  value,
  onValue,
}: {
  readonly value: string;
  readonly onValue: (id: string) => void;
}): ReactNode {
  const organizations = useQuery<OrganizationList, ApiError>({
    queryKey: ['clients', 'organizations'],
    queryFn: readView('/organizations'),
  });
  const open = organizations.data?.result.filter(({ isOpen }) => isOpen) ?? [];
  if (open.length < 2) return null;
  return (
    <SelectField
      label="Organization"
      options={open.map(({ id, name, isBuiltIn }) => [isBuiltIn ? '' : id, name])}
      value={value}
      onValue={onValue}
    />
  );
}

/** The option of the command; none for the operator's own. */
export const organizationOption = (id: string): readonly string[] =>
  id === '' ? [] : ['--organization', id];
