import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { DoneAnswer, NewDomain } from '../../../app/console/contract/index.ts';
import { post } from '../../api/client.ts';
import { refreshTrust } from '../../api/refresh-trust.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { TextField } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { OrganizationField, organizationOption } from '../../components/organization-field.tsx';

/** Hosts a domain, and opens its page, where the next steps are. */
export function NewDomainDialog({
  of = '',
  onClose,
}: {
  /** The organization that is chosen at first. */
  readonly of?: string;
  onClose(): void;
}): ReactNode {
  const [typed, setDomain] = useState('');
  const [organization, setOrganization] = useState(of);
  const domain = typed.trim().toLowerCase();
  const announce = useAnnounce();
  const queries = useQueryClient();
  const [, open] = useLocation();
  return (
    <FormDialog<DoneAnswer>
      title="Add a domain"
      action="Add"
      fields={['domain']}
      canSend={domain !== ''}
      send={() =>
        post<DoneAnswer>('/domains', {
          domain,
          ...(organization !== '' && { organization }),
        } satisfies NewDomain)
      }
      onDone={({ sentence }) => {
        announce({ text: sentence });
        void refreshTrust(queries);
        void queries.invalidateQueries({ queryKey: ['clients', 'organizations'] });
        onClose();
        open(`/domains/${encodeURIComponent(domain)}`);
      }}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <TextField
            label="Domain"
            hint="a domain for Direct alone, not the one of the organization's usual mail"
            placeholder="direct.clinic.example"
            required
            maxLength={255}
            value={typed}
            onText={setDomain}
            error={problemOf('domain')}
          />
          <OrganizationField value={organization} onValue={setOrganization} />
          <p className="muted">
            Then, on its page: make a key and have a CA issue its certificate, trust the CAs of partners or a
            trust bundle, add addresses, publish the DNS records.
          </p>
          <Command
            words={[
              'domain',
              'add',
              domain === '' ? 'direct.clinic.example' : domain,
              ...organizationOption(organization),
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}
