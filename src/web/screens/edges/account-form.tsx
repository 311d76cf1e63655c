import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import type {
  ClientList,
  EdgeAccount,
  EdgeAccountChange,
  EdgePolicies,
  IssuedPassword,
  NewEdgeAccount,
} from '../../../app/console/contract/index.ts';
import { patch, post, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { AddressesField, readAddresses } from '../../components/addresses-field.tsx';
import { SelectField, TextField, type Option } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { ShownOnce } from '../../components/secrets.tsx';

type Protocol = EdgeAccount['protocols'][number];

const protocols: readonly { readonly name: Protocol; readonly text: string }[] = [
  { name: 'imap', text: 'IMAP: read mail, it stays here' },
  { name: 'pop3', text: 'POP3: fetch mail' },
  { name: 'submission', text: 'submission: send mail' },
  { name: 'line', text: 'line edge: files of an EHR' },
];

export const inboundWords: Readonly<Record<EdgePolicies['inbound'], string>> = {
  'as-it-came': 'as they came',
  unpacked: 'unpacked, documents as attachments',
  xdm: 'packed as XDM',
};
export const acknowledgedWords: Readonly<Record<EdgePolicies['acknowledgedBy'], string>> = {
  stored: 'fetching it whole; confirmed to the sender once it is stored',
  fetched: 'fetching it whole',
  deleted: 'deleting it',
};
export const outboundWords: Readonly<Record<EdgePolicies['outbound'], string>> = {
  'as-submitted': 'as they were submitted',
  xdm: 'packed as XDM',
};
const optionsOf = (words: Readonly<Record<string, string>>): readonly Option[] => Object.entries(words);

const usualPolicies: EdgePolicies = {
  requestsFinalDelivery: true,
  noticesInMailbox: true,
  outbound: 'as-submitted',
  authorInstitution: '',
  inbound: 'as-it-came',
  acknowledgedBy: 'fetched',
};

/** Creates an account and shows its password once; or, with `before`, changes one. */
export function EdgeAccountDialog({
  before,
  onClose,
}: {
  readonly before?: EdgeAccount;
  onClose(): void;
}): ReactNode {
  const [issued, setIssued] = useState<IssuedPassword>();
  const [typed, setTyped] = useState({
    clientId: before?.clientId ?? '',
    username: before?.username ?? '',
    addresses: before?.addresses.join('\n') ?? '',
    chosen: before?.protocols ?? (['imap', 'submission'] as readonly Protocol[]),
    policies: before?.policies ?? usualPolicies,
  });
  const type = (change: Partial<typeof typed>): void => setTyped({ ...typed, ...change });
  const setPolicy = (change: Partial<EdgePolicies>): void =>
    type({ policies: { ...typed.policies, ...change } });
  const announce = useAnnounce();
  const queries = useQueryClient();
  const [, open] = useLocation();
  const clients = useQuery<ClientList, ApiError>({
    queryKey: ['clients', 'list'],
    queryFn: readView('/clients'),
  });
  const { clientId, username, chosen, policies } = typed;
  const addresses = readAddresses(typed.addresses);
  const settings = {
    addresses: addresses.length === 0 ? [username.trim()] : addresses,
    protocols: [...chosen],
    policies,
  } satisfies EdgeAccountChange;
  const refresh = (): void => void queries.invalidateQueries({ queryKey: ['clients', 'edges'] });
  if (issued !== undefined) {
    const show = (): void => {
      onClose();
      open(`/edge-accounts/${encodeURIComponent(issued.accountId)}`);
    };
    return (
      <Dialog title={`${issued.username} is ready`} onClose={show}>
        <PasswordOnce issued={issued} onDone={show} />
      </Dialog>
    );
  }
  return (
    <FormDialog<IssuedPassword | EdgeAccount>
      title={before === undefined ? 'New edge account' : before.username}
      action={before === undefined ? 'Create' : 'Save'}
      fields={['username', 'addresses', 'protocols', 'clientId', 'authorInstitution']}
      canSend={clientId !== '' && username.trim() !== '' && chosen.length > 0}
      send={() =>
        before === undefined
          ? post<IssuedPassword>('/edge-accounts', {
              ...settings,
              clientId,
              username: username.trim(),
            } satisfies NewEdgeAccount)
          : patch<EdgeAccount>(`/edge-accounts/${encodeURIComponent(before.accountId)}`, settings)
      }
      onDone={(answer) => {
        refresh();
        if ('password' in answer) return setIssued(answer);
        announce({ text: 'The account is changed.' });
        return onClose();
      }}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          {before === undefined && (
            <>
              <SelectField
                label="Client"
                hint="whose addresses and limits it uses"
                value={clientId}
                onValue={(value) => type({ clientId: value })}
                error={problemOf('clientId')}
                options={[
                  ['', 'choose a client'],
                  ...(clients.data?.result ?? []).map((one): Option => [one.clientId, one.name]),
                ]}
              />
              <TextField
                label="User name"
                hint="usually the Direct address"
                required
                maxLength={255}
                value={username}
                onText={(text) => type({ username: text })}
                error={problemOf('username')}
              />
            </>
          )}
          <AddressesField
            label="Addresses"
            hint="of the client's, one per line; @domain for all of a domain; empty: the user name"
            rows={2}
            text={typed.addresses}
            onText={(text) => type({ addresses: text })}
            error={problemOf('addresses')}
          />
          <fieldset className="choices">
            <legend>Protocols</legend>
            {protocols.map(({ name, text }) => (
              <Choice
                key={name}
                text={text}
                isOn={chosen.includes(name)}
                onChange={(isOn) =>
                  type({ chosen: [...chosen.filter((one) => one !== name), ...(isOn ? [name] : [])] })
                }
              />
            ))}
            {problemOf('protocols') !== undefined && <p role="alert">{problemOf('protocols')}</p>}
          </fieldset>
          <fieldset className="choices">
            <legend>Policies</legend>
            <Choice
              text="What it sends asks for the final delivery"
              isOn={policies.requestsFinalDelivery}
              onChange={(isOn) => setPolicy({ requestsFinalDelivery: isOn })}
            />
            <Choice
              text="Its mailbox receives the outcome of what it sends"
              isOn={policies.noticesInMailbox}
              onChange={(isOn) => setPolicy({ noticesInMailbox: isOn })}
            />
          </fieldset>
          <SelectField
            label="Documents that it sends go out"
            options={optionsOf(outboundWords)}
            value={policies.outbound}
            onValue={(value) => setPolicy({ outbound: value as EdgePolicies['outbound'] })}
          />
          {policies.outbound === 'xdm' && (
            <TextField
              label="Author institution"
              hint="name, nine carets and an OID; empty for none"
              maxLength={255}
              value={policies.authorInstitution}
              onText={(text) => setPolicy({ authorInstitution: text })}
              error={problemOf('authorInstitution')}
            />
          )}
          <SelectField
            label="Received packages are shown"
            options={optionsOf(inboundWords)}
            value={policies.inbound}
            onValue={(value) => setPolicy({ inbound: value as EdgePolicies['inbound'] })}
          />
          <SelectField
            label="Received mail is acknowledged by"
            options={optionsOf(acknowledgedWords)}
            value={policies.acknowledgedBy}
            onValue={(value) => setPolicy({ acknowledgedBy: value as EdgePolicies['acknowledgedBy'] })}
          />
          <Command
            words={[
              ...(before === undefined
                ? ['edge', 'create', clientId || 'CLIENT', username.trim() || 'USER']
                : ['edge', 'update', before.username]),
              '--address',
              ...(settings.addresses[0] === '' ? ['USER'] : settings.addresses),
              '--protocol',
              ...chosen,
              policies.requestsFinalDelivery ? '--final-delivery' : '--no-final-delivery',
              policies.noticesInMailbox ? '--notices' : '--no-notices',
              '--outbound',
              policies.outbound,
              ...(policies.outbound === 'xdm' ? ['--author-institution', policies.authorInstitution] : []),
              '--inbound',
              policies.inbound,
              '--acknowledged-by',
              policies.acknowledgedBy,
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}

function Choice({
  text,
  isOn,
  onChange,
}: {
  readonly text: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}): ReactNode {
  return (
    <label className="choice">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{text}</span>
    </label>
  );
}

/** A new password, which cannot be shown again. */
export function PasswordOnce({
  issued,
  onDone,
}: {
  readonly issued: IssuedPassword;
  onDone(): void;
}): ReactNode {
  const { username, password, passwordId } = issued;
  return (
    <ShownOnce
      noun="password"
      values={[
        ['User name', username],
        ['Password', password],
      ]}
      id={['Password id', passwordId]}
      copy={['Copy both', `${username}\n${password}\n`]}
      onDone={onDone}
    />
  );
}
