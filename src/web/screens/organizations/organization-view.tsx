import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { OrganizationDetails } from '../../../app/console/contract/index.ts';
import type { ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMay, useMayWhole } from '../../api/session.ts';
import { Table } from '../../components/data-table.tsx';
import { AddLegalHold, LegalHolds } from '../../components/legal-holds.tsx';
import { Facts, Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time } from '../../components/time.tsx';
import { NewClientDialog } from '../clients/new-client.tsx';
import { NewDomainDialog } from '../domains/new-domain.tsx';
import { ClosingDialog, limitWords, OrganizationDialog, organizationPath } from './organization-form.tsx';

const up = { name: 'Organizations', href: '/organizations' } as const;

/** One organization: who it is, its limits, and what belongs to it. */
export function OrganizationView({ id }: { readonly id: string }): ReactNode {
  const mayChange = useMayWhole('settings.change');
  const [form, setForm] = useState<'edit' | 'closing' | 'domain' | 'client'>();
  const details = useQuery<OrganizationDetails, ApiError>({
    queryKey: ['clients', 'organizations', id],
    queryFn: readView(organizationPath(id)),
  });
  const shown = details.data;
  if (shown === undefined)
    return (
      <Screen title="Organization" up={up}>
        {details.error === null ? (
          <LoadingState />
        ) : (
          <ErrorState error={details.error} onRetry={() => void details.refetch()} />
        )}
      </Screen>
    );
  const { organization } = shown;
  const close = (): void => setForm(undefined);
  const ownId = organization.isBuiltIn ? '' : organization.id;
  const addButton = (name: 'domain' | 'client'): ReactNode =>
    mayChange &&
    organization.isOpen && (
      <button type="button" onClick={() => setForm(name)}>
        Add a {name}
      </button>
    );
  return (
    <Screen
      title={organization.name}
      up={up}
      lead={<StateMark tone={organization.level}>{organization.text}</StateMark>}
      actions={
        mayChange && (
          <>
            <AddLegalHold
              subjects={[{ kind: 'organization', name: organization.id }]}
              onDone={() => void details.refetch()}
            />
            <button type="button" onClick={() => setForm('edit')}>
              Edit
            </button>
            {!organization.isBuiltIn && (
              <button type="button" onClick={() => setForm('closing')}>
                {organization.isOpen ? 'Close' : 'Open again'}
              </button>
            )}
          </>
        )
      }
    >
      <LegalHolds holds={shown.legalHolds} onChanged={() => void details.refetch()} />
      <Facts
        facts={[
          ['Id', <code key="id">{organization.id}</code>],
          ['NPI', shown.npi || undefined],
          ['Address', postalOf(shown) || undefined],
          [
            'Contacts',
            shown.contacts.length === 0 ? undefined : <Lines key="contacts" lines={shown.contacts} />,
          ],
          ['Addresses', formatNumber(organization.addresses)],
          [
            'Closed',
            shown.closedAt === null ? undefined : <Time key="closed" at={shown.closedAt} as="zoned" />,
          ],
          [
            'Added',
            shown.createdAt === null ? undefined : <Time key="created" at={shown.createdAt} as="day" />,
          ],
        ]}
      />
      <Limits details={shown} />
      <Section title="Domains" actions={addButton('domain')}>
        <Links
          entries={shown.domains.map((domain) => [`/domains/${encodeURIComponent(domain)}`, domain])}
          none="No domain belongs to it."
        />
      </Section>
      <Section title="Clients" actions={addButton('client')}>
        <Links
          entries={shown.clients.map(({ clientId, name }) => [
            `/clients/${encodeURIComponent(clientId)}`,
            name,
          ])}
          none="No client belongs to it."
        />
      </Section>
      <Operators operators={shown.operators} isBuiltIn={organization.isBuiltIn} />
      {form === 'domain' && <NewDomainDialog of={ownId} onClose={close} />}
      {form === 'client' && (
        <NewClientDialog
          of={{
            organization: ownId,
            addresses: shown.domains.map((domain) => `@${domain}`).join('\n'),
          }}
          onClose={close}
        />
      )}
      {form === 'edit' && <OrganizationDialog before={shown} onClose={close} />}
      {form === 'closing' && <ClosingDialog organization={organization} onClose={close} />}
    </Screen>
  );
}

const postalOf = ({ street, city, state, zip }: OrganizationDetails): string =>
  [street, city, `${state} ${zip}`.trim()].filter((part) => part !== '').join(', ');

function Lines({ lines }: { readonly lines: readonly string[] }): ReactNode {
  return (
    <ul>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

function Limits({
  details: {
    limits,
    used,
    organization: { id },
  },
}: {
  readonly details: OrganizationDetails;
}): ReactNode {
  const limited = limitWords.filter(([name]) => limits[name] !== null);
  return (
    <Section
      title="Limits"
      note="What would pass one is refused."
      actions={
        <Link href={`/usage?organization=${encodeURIComponent(id)}`} className="button">
          Usage by month
        </Link>
      }
    >
      {limited.length === 0 ? (
        <EmptyState title="No limits" />
      ) : (
        <Facts
          facts={limited.map(([name, label]) => [
            label,
            `${formatNumber(used[name] ?? 0)} of ${formatNumber(limits[name] ?? 0)}`,
          ])}
        />
      )}
    </Section>
  );
}

function Links({
  entries,
  none,
}: {
  readonly entries: readonly (readonly [href: string, text: string])[];
  readonly none: string;
}): ReactNode {
  if (entries.length === 0) return <EmptyState title={none} />;
  return (
    <ul>
      {entries.map(([href, text]) => (
        <li key={href}>
          <Link href={href} data-row="">
            {text}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Operators({
  operators,
  isBuiltIn,
}: {
  readonly operators: OrganizationDetails['operators'];
  readonly isBuiltIn: boolean;
}): ReactNode {
  const mayRead = useMay('operators.read');
  return (
    <Section
      title="Operators"
      note={isBuiltIn ? 'They see everything.' : 'They see and change only what belongs to it.'}
    >
      {operators.length === 0 ? (
        <EmptyState title="No operators" />
      ) : (
        <Table
          caption="Operators of the organization"
          rows={operators}
          idOf={({ name }) => name}
          {...(mayRead && {
            hrefOf: ({ name }: (typeof operators)[number]) => `/operators/${encodeURIComponent(name)}`,
          })}
          columns={[
            { name: 'Name', isFlexible: true, cell: ({ name }) => name },
            { name: 'Role', isPlain: true, cell: ({ role }) => role },
            { name: 'State', cell: ({ isEnabled }) => (isEnabled ? 'active' : 'disabled') },
          ]}
        />
      )}
    </Section>
  );
}
