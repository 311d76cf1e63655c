import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type { Client, ClientChange, ClientLimits } from '../../../app/console/contract/index.ts';
import { patch } from '../../api/client.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { TextField } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { AddressesField, readAddresses } from '../../components/addresses-field.tsx';
import { ScopeChoices, type Scope } from './scope-choices.tsx';

const limitNames = [
  ['sendsPerSecond', 'Sends per second'],
  ['sendsBurst', 'Burst of sends'],
  ['directoryRequestsPerSecond', 'Searches per second'],
  ['directoryRequestsBurst', 'Burst of searches'],
  ['directoryRecordsPerDay', 'Directory records per day'],
] as const satisfies readonly (readonly [keyof ClientLimits, string])[];

/** Changes the settings of a client. An empty limit is the one of all clients. */
export function EditClientDialog({
  client,
  path,
  onClose,
}: {
  readonly client: Client;
  readonly path: string;
  readonly onClose: () => void;
}): ReactNode {
  const [typed, setTyped] = useState({
    name: client.name,
    chosen: client.scopes as readonly Scope[],
    addresses: client.directAddresses.join('\n'),
    requestFinalDelivery: client.requestFinalDelivery,
    limits: Object.fromEntries(
      limitNames.map(([name]) => [name, client.own.includes(name) ? String(client.limits[name]) : '']),
    ),
    hasAccepted: client.dataUseAcceptedAt !== null,
  });
  const type = (change: Partial<typeof typed>): void => setTyped({ ...typed, ...change });
  const announce = useAnnounce();
  const queries = useQueryClient();
  const change = (): ClientChange => ({
    name: typed.name.trim(),
    scopes: [...typed.chosen],
    directAddresses: readAddresses(typed.addresses),
    requestFinalDelivery: typed.requestFinalDelivery,
    limits: Object.fromEntries(
      Object.entries(typed.limits).flatMap(([name, text]) =>
        text.trim() === '' ? [] : [[name, Number(text)]],
      ),
    ),
    ...(typed.hasAccepted && client.dataUseAcceptedAt === null && { hasAcceptedDataUse: true }),
  });
  return (
    <FormDialog<Client>
      title={`Edit ${client.name}`}
      action="Save"
      fields={['name', 'directAddresses', ...limitNames.map(([name]) => `limits.${name}`)]}
      canSend={typed.name.trim() !== '' && typed.chosen.length > 0}
      send={() => patch<Client>(path, change())}
      onDone={() => {
        announce({ text: 'The client is changed.' });
        void queries.invalidateQueries({ queryKey: ['clients'] });
        onClose();
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
          <ScopeChoices chosen={typed.chosen} onChosen={(chosen) => type({ chosen })} />
          <AddressesField
            text={typed.addresses}
            onText={(text) => type({ addresses: text })}
            error={problemOf('directAddresses')}
          />
          <label className="choice">
            <input
              type="checkbox"
              checked={typed.requestFinalDelivery}
              onChange={(event) => type({ requestFinalDelivery: event.currentTarget.checked })}
            />
            <span>What it sends asks for the final delivery, unless a send overrides it</span>
          </label>
          <div className="form-columns">
            {limitNames.map(([name, label]) => (
              <TextField
                key={name}
                label={label}
                inputMode="decimal"
                placeholder={String(client.limits[name])}
                value={typed.limits[name] ?? ''}
                onText={(text) => type({ limits: { ...typed.limits, [name]: text } })}
                error={problemOf(`limits.${name}`)}
              />
            ))}
          </div>
          {client.dataUseAcceptedAt === null && (
            <label className="choice">
              <input
                type="checkbox"
                checked={typed.hasAccepted}
                onChange={(event) => type({ hasAccepted: event.currentTarget.checked })}
              />
              <span>It has accepted the data-use agreement of the directory</span>
            </label>
          )}
          <UpdateCommand client={client} change={change()} />
        </>
      )}
    </FormDialog>
  );
}

/** Only what differs: the command keeps the rest. It cannot end the last limit of a client's own. */
function UpdateCommand({
  client,
  change: { name, scopes, directAddresses, requestFinalDelivery, limits = {}, hasAcceptedDataUse },
}: {
  readonly client: Client;
  readonly change: ClientChange;
}): ReactNode {
  const isSame = (one: readonly string[] = [], other: readonly string[]): boolean =>
    one.join(' ') === other.join(' ');
  const wanted = Object.entries(limits).map(([limit, value]) => `${limit}=${value}`);
  const own = limitNames.flatMap(([limit]) =>
    client.own.includes(limit) ? [`${limit}=${client.limits[limit]}`] : [],
  );
  if (wanted.length === 0 && own.length > 0) return null;
  return (
    <Command
      words={[
        'client',
        'update',
        client.clientId,
        ...(name === client.name ? [] : ['--name', name]),
        ...(isSame(scopes, client.scopes) ? [] : ['--scope', ...(scopes ?? [])]),
        ...(isSame(directAddresses, client.directAddresses) ? [] : ['--address', ...(directAddresses ?? [])]),
        ...(requestFinalDelivery === client.requestFinalDelivery
          ? []
          : [requestFinalDelivery === true ? '--final-delivery' : '--no-final-delivery']),
        ...(isSame(wanted.toSorted(), own.toSorted()) ? [] : wanted.flatMap((one) => ['--limit', one])),
        hasAcceptedDataUse === true ? '--data-use-accepted' : undefined,
      ]}
    />
  );
}
