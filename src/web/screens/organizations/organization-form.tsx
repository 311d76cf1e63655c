import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import type {
  DoneAnswer,
  NewOrganization,
  OrganizationChange,
  OrganizationDetails,
  OrganizationEntry,
  OrganizationLimits,
} from '../../../app/console/contract/index.ts';
import { patch, post } from '../../api/client.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Field, TextField } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';

export const organizationPath = (id: string): string => `/organizations/${encodeURIComponent(id)}`;

export const limitWords = [
  ['addresses', 'Active addresses'],
  ['messagesPerDay', 'Messages sent per day (UTC)'],
  ['octetsPerDay', 'Octets sent per day (UTC)'],
  ['storageOctets', 'Octets stored'],
] as const satisfies readonly (readonly [keyof OrganizationLimits, string])[];

const texts = [
  ['npi', 'NPI', 10],
  ['street', 'Street', 200],
  ['city', 'City', 100],
  ['state', 'State', 2],
  ['zip', 'ZIP code', 10],
] as const;

const isNumber = (text: string): boolean => /^\d{0,15}$/.test(text);

/** The option of the command that sets what has changed. */
const optionOf = (name: string, value: string, before = ''): readonly string[] =>
  value === before ? [] : [`--${name}`, value];

/** Adds an organization; or, with `before`, changes one. */
export function OrganizationDialog({
  before,
  onClose,
}: {
  readonly before?: OrganizationDetails;
  readonly onClose: () => void;
}): ReactNode {
  const [typed, setTyped] = useState({
    name: before?.organization.name ?? '',
    id: '',
    npi: before?.npi ?? '',
    street: before?.street ?? '',
    city: before?.city ?? '',
    state: before?.state ?? '',
    zip: before?.zip ?? '',
    contacts: before?.contacts.join('\n') ?? '',
    limits: Object.fromEntries(limitWords.map(([name]) => [name, String(before?.limits[name] ?? '')])),
  });
  const type = (change: Partial<typeof typed>): void => setTyped({ ...typed, ...change });
  const announce = useAnnounce();
  const queries = useQueryClient();
  const [, open] = useLocation();
  const contacts = typed.contacts
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const limitOf = (name: string): string => typed.limits[name]?.trim() ?? '';
  const areNumbers = limitWords.every(([name]) => isNumber(limitOf(name)));
  const change = (): OrganizationChange => ({
    name: typed.name.trim(),
    ...Object.fromEntries(texts.map(([name]) => [name, typed[name].trim()])),
    contacts,
    // A new one has no limit that could end.
    limits: Object.fromEntries(
      limitWords
        .filter(([name]) => before !== undefined || limitOf(name) !== '')
        .map(([name]) => [name, limitOf(name) === '' ? null : Number(limitOf(name))]),
    ),
  });
  return (
    <FormDialog<OrganizationEntry>
      title={before === undefined ? 'New organization' : before.organization.name}
      action={before === undefined ? 'Add' : 'Save'}
      fields={['name', 'id', ...texts.map(([name]) => name), 'contacts', 'limits']}
      canSend={typed.name.trim() !== '' && areNumbers}
      send={() =>
        before === undefined
          ? post<OrganizationEntry>('/organizations', {
              ...change(),
              name: typed.name.trim(),
              ...(typed.id.trim() !== '' && { id: typed.id.trim() }),
            } satisfies NewOrganization)
          : patch<OrganizationEntry>(organizationPath(before.organization.id), change())
      }
      onDone={({ id }) => {
        announce({
          text: before === undefined ? 'The organization is added.' : 'The organization is changed.',
        });
        void queries.invalidateQueries({ queryKey: ['clients', 'organizations'] });
        onClose();
        if (before === undefined) open(organizationPath(id));
      }}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <TextField
            label="Name"
            required
            maxLength={200}
            value={typed.name}
            onText={(name) => type({ name })}
            error={problemOf('name')}
          />
          {before === undefined && (
            <TextField
              label="Id"
              hint="small letters, digits and hyphens; empty: one is made"
              maxLength={64}
              value={typed.id}
              onText={(id) => type({ id })}
              error={problemOf('id')}
            />
          )}
          <div className="form-columns">
            {texts.map(([name, label, maxLength]) => (
              <TextField
                key={name}
                label={label}
                maxLength={maxLength}
                value={typed[name]}
                onText={(text) => type({ [name]: text })}
                error={problemOf(name)}
              />
            ))}
          </div>
          <Field label="Contacts" hint="whom to reach, one per line" error={problemOf('contacts')}>
            {(tie) => (
              <textarea
                {...tie}
                rows={2}
                value={typed.contacts}
                onChange={(event) => type({ contacts: event.currentTarget.value })}
              />
            )}
          </Field>
          <div className="form-columns">
            {limitWords.map(([name, label]) => (
              <TextField
                key={name}
                label={label}
                inputMode="numeric"
                placeholder="no limit"
                value={typed.limits[name] ?? ''}
                onText={(text) => type({ limits: { ...typed.limits, [name]: text } })}
                error={isNumber(limitOf(name)) ? problemOf(`limits.${name}`) : 'Digits only, without a unit.'}
              />
            ))}
          </div>
          <Command
            words={[
              'organization',
              ...(before === undefined
                ? ['add', typed.name.trim() || 'NAME']
                : ['edit', before.organization.id, '--name', typed.name.trim()]),
              ...optionOf('id', typed.id.trim()),
              ...texts.flatMap(([name]) => optionOf(name, typed[name].trim(), before?.[name])),
              ...(contacts.join('\n') === (before?.contacts.join('\n') ?? '')
                ? []
                : ['--contact', ...(contacts.length === 0 ? [''] : contacts)]),
              ...limitWords.flatMap(([name]) =>
                limitOf(name) === String(before?.limits[name] ?? '')
                  ? []
                  : ['--limit', `${name}=${limitOf(name) || 'none'}`],
              ),
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}

/** Closes an organization, with a reason, or opens it again. */
export function ClosingDialog({
  organization: { id, name, isOpen },
  onClose,
}: {
  readonly organization: OrganizationEntry;
  readonly onClose: () => void;
}): ReactNode {
  const [reason, setReason] = useState('');
  const announce = useAnnounce();
  const queries = useQueryClient();
  const path = organizationPath(id);
  return (
    <FormDialog<DoneAnswer>
      title={isOpen ? `Close ${name}` : `Open ${name} again`}
      action={isOpen ? 'Close it' : 'Open it'}
      fields={['reason']}
      canSend={!isOpen || reason.trim() !== ''}
      send={() =>
        isOpen
          ? post<DoneAnswer>(`${path}/close`, { reason: reason.trim() })
          : post<DoneAnswer>(`${path}/reopen`)
      }
      onDone={({ sentence }) => {
        announce({ text: sentence });
        void queries.invalidateQueries();
        onClose();
      }}
      onClose={onClose}
    >
      {(problemOf) =>
        isOpen ? (
          <>
            <p>
              Its mail is refused, its clients are disabled and its operators have no access at once. Its keys
              sign what is queued for seven days. What is stored stays as long as the retention says.
            </p>
            <TextField
              label="Reason"
              hint="for the audit trail"
              required
              maxLength={200}
              value={reason}
              onText={setReason}
              error={problemOf('reason')}
            />
            <Command words={['organization', 'close', id, '--reason', reason.trim() || 'REASON']} />
          </>
        ) : (
          <>
            <p>Its mail is accepted again. Enable its clients and list its addresses afterwards.</p>
            <Command words={['organization', 'reopen', id]} />
          </>
        )
      }
    </FormDialog>
  );
}
