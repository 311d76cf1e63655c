import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { ClientList, IssuedWebhook, NewWebhook } from '../../../app/console/contract/index.ts';
import { post, type ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { Command } from '../../components/command.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, TextField, type Option } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { ShownOnce } from '../../components/secrets.tsx';

const kinds: readonly Option[] = [
  ['status', 'what happens to messages'],
  ['inbound', 'received messages'],
];

/** Registers a webhook of a client and shows its signing secret once. */
export function NewWebhookDialog({
  clientId: given = '',
  onClose,
}: {
  /** Chosen at first. */
  readonly clientId?: string | undefined;
  readonly onClose: () => void;
}): ReactNode {
  const [typed, setTyped] = useState({
    clientId: given,
    url: '',
    kind: 'status' as NewWebhook['kind'],
    description: '',
  });
  const [issued, setIssued] = useState<IssuedWebhook>();
  const queries = useQueryClient();
  const [, open] = useLocation();
  const clients = useQuery<ClientList, ApiError>({
    queryKey: ['clients', 'list'],
    queryFn: readView('/clients'),
  });
  const type = (change: Partial<typeof typed>): void => setTyped({ ...typed, ...change });
  const { clientId, kind } = typed;
  const url = typed.url.trim();
  const description = typed.description.trim();
  if (issued !== undefined) {
    const show = (): void => {
      onClose();
      open(`/webhooks/${encodeURIComponent(issued.id)}`);
    };
    return (
      <Dialog title="The webhook is registered" onClose={show}>
        <ShownOnce
          noun="signing secret"
          note="The receiver checks with it that an event came from here, by the rules of Standard Webhooks. Hand it over by a safe way."
          values={[['Secret', issued.secret]]}
          id={['Webhook id', issued.id]}
          copy={['Copy the secret', issued.secret]}
          onDone={show}
        />
      </Dialog>
    );
  }
  return (
    <FormDialog<IssuedWebhook>
      title="New webhook"
      action="Register"
      fields={['url', 'description', 'clientId']}
      canSend={clientId !== '' && url !== ''}
      send={() => post<IssuedWebhook>('/webhooks', { clientId, url, kind, description } satisfies NewWebhook)}
      onDone={(answer) => {
        setIssued(answer);
        void queries.invalidateQueries({ queryKey: ['webhooks'] });
      }}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <SelectField
            label="Client"
            value={clientId}
            onValue={(value) => type({ clientId: value })}
            error={problemOf('clientId')}
            options={[
              ['', 'choose a client'],
              ...(clients.data?.result ?? []).map((one): Option => [one.clientId, one.name]),
            ]}
          />
          <TextField
            label="URL"
            hint="HTTPS, on a public host; redirects are not followed"
            required
            type="url"
            maxLength={2048}
            value={typed.url}
            onText={(text) => type({ url: text })}
            error={problemOf('url')}
          />
          <SelectField
            label="It receives"
            hint={kind === 'status' ? 'small events without patient data' : 'whole, with their documents'}
            options={kinds}
            value={kind}
            onValue={(value) => type({ kind: value as NewWebhook['kind'] })}
          />
          <TextField
            label="Description"
            hint="shown in lists; may be empty"
            maxLength={200}
            value={typed.description}
            onText={(text) => type({ description: text })}
            error={problemOf('description')}
          />
          <Command
            words={[
              'webhook',
              'create',
              clientId || 'CLIENT',
              url || 'URL',
              '--kind',
              kind,
              ...(description === '' ? [] : ['--description', description]),
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}
