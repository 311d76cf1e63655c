import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type { CsrAnswer, DomainKey } from '../../../app/console/contract/index.ts';
import { post, type ApiError } from '../../api/client.ts';
import { refreshTrust } from '../../api/refresh-trust.ts';
import { useDraft, useHasDraft } from '../../api/use-draft.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Copy } from '../../components/copy.tsx';
import { Field, SelectField, TextField } from '../../components/fields.tsx';
import { Section } from '../../components/screen.tsx';
import { ErrorState, StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { RetireKey } from './key-list.tsx';

interface RotationProps {
  readonly path: string;
  readonly domain: string;
  readonly keys: readonly DomainKey[];
}

const requestForm = (path: string): string => `${path}/csr`;

/**
 * A new key in four steps. The open step follows from the stored keys, so that a rotation can continue days
 * later.
 */
export function Rotation({ path, domain, keys }: RotationProps): ReactNode {
  const requested = keys.filter(({ status }) => status === 'requested');
  const owners = [...new Set([domain, ...keys.map(({ owner }) => owner)])];
  const active = keys.filter(({ status }) => status === 'active');
  // Keys whose owner has a newer key for the same uses.
  const replaced = active.filter((key) =>
    active.some(
      (other) =>
        other.owner === key.owner &&
        endOf(other) > endOf(key) &&
        key.uses.every((use) => other.uses.includes(use)),
    ),
  );
  const [isOpen, setOpen] = useState(useHasDraft(requestForm(path)));
  const isShown = isOpen || requested.length > 0 || replaced.length > 0;
  return (
    <Section
      title="Rotate a key"
      note="Make a new key, have a CA issue its certificate, install the certificate, retire the old key."
      actions={
        !isShown && (
          <button type="button" onClick={() => setOpen(true)}>
            Begin
          </button>
        )
      }
    >
      {isShown && (
        <ol className="rotation-steps">
          <RequestStep path={path} owners={owners} isDone={requested.length > 0} />
          <SignStep requested={requested} />
          <InstallStep path={path} requested={requested} isDone={replaced.length > 0} />
          <RetireStep path={path} replaced={replaced} />
        </ol>
      )}
    </Section>
  );
}

function endOf({ certificate }: DomainKey): string {
  return certificate?.notAfter ?? '';
}

function Step({
  title,
  isDone,
  isWaiting,
  children,
}: {
  readonly title: string;
  readonly isDone: boolean;
  readonly isWaiting: boolean;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <li className="rotation-step" data-done={isDone} data-waiting={isWaiting}>
      <h3>
        {title}
        {isDone && (
          <span className="rotation-step-done">
            <StateMark tone="ok">done</StateMark>
          </span>
        )}
      </h3>
      <div className="rotation-step-body">{children}</div>
    </li>
  );
}

function RequestStep({
  path,
  owners,
  isDone,
}: {
  readonly path: string;
  readonly owners: readonly string[];
  readonly isDone: boolean;
}): ReactNode {
  const [typed, setTyped, drop] = useDraft(requestForm(path), { owner: owners[0] ?? '', organization: '' });
  const { owner, organization } = typed;
  const client = useQueryClient();
  const announce = useAnnounce();
  const request = useMutation<CsrAnswer, ApiError>({
    mutationFn: () =>
      post<CsrAnswer>(`${path}/csr`, { owner, ...(organization === '' ? {} : { organization }) }),
    onSuccess: async () => {
      drop();
      announce({ text: 'The key was made. Send the request to your CA.' });
      await refreshTrust(client);
    },
  });
  return (
    <Step title="Make a key and a certificate request" isDone={isDone} isWaiting={false}>
      {!isDone && (
        <form
          className="rotation-step-form"
          onSubmit={(event) => {
            event.preventDefault();
            request.mutate();
          }}
        >
          <SelectField
            label="For"
            options={owners.map((name) => [name, name] as const)}
            value={owner}
            onValue={(text) => setTyped({ ...typed, owner: text })}
          />
          <TextField
            label="Organization"
            hint="optional; some CAs require it"
            value={organization}
            onText={(text) => setTyped({ ...typed, organization: text })}
          />
          <button type="submit" className="primary" disabled={request.isPending}>
            Make a key
          </button>
        </form>
      )}
      {isDone && <p className="muted">The private key stays here, encrypted at rest.</p>}
      {request.error !== null && <ErrorState error={request.error} />}
    </Step>
  );
}

function SignStep({ requested }: { readonly requested: readonly DomainKey[] }): ReactNode {
  return (
    <Step title="Have the certificate issued by your CA" isDone={false} isWaiting={requested.length === 0}>
      {requested.length === 0 ? (
        <p className="muted">The certificate request appears here.</p>
      ) : (
        requested.map((key) => (
          <div key={key.id} className="csr">
            <p>
              For <b>{key.owner}</b>
              {key.createdAt !== null && (
                <span className="faint">
                  , made <Time at={key.createdAt} />
                </span>
              )}
            </p>
            <pre>{key.csr}</pre>
            <p className="row">
              <Copy text={key.csr} label="Copy the request" />
              <a
                className="button"
                href={`data:application/pkcs10;charset=utf-8,${encodeURIComponent(key.csr)}`}
                download={`${key.owner}.csr`}
              >
                Save as a file
              </a>
            </p>
          </div>
        ))
      )}
    </Step>
  );
}

function InstallStep({
  path,
  requested,
  isDone,
}: {
  readonly path: string;
  readonly requested: readonly DomainKey[];
  readonly isDone: boolean;
}): ReactNode {
  const [certificate, setCertificate] = useDraft(`${path}/keys`, '');
  const client = useQueryClient();
  const announce = useAnnounce();
  const install = useMutation<DomainKey, ApiError>({
    mutationFn: () => post<DomainKey>(`${path}/keys`, { certificate }),
    onSuccess: async (key) => {
      setCertificate('');
      announce({ text: `Installed. ${key.owner} now signs with this key and publishes its certificate.` });
      await refreshTrust(client);
    },
  });
  const isWaiting = requested.length === 0;
  return (
    <Step title="Install the certificate" isDone={isDone && isWaiting} isWaiting={isWaiting && !isDone}>
      {isWaiting ? (
        <p className="muted">
          {isDone
            ? 'Both certificates are published; peers may encrypt to either.'
            : 'Paste the certificate that the CA issued.'}
        </p>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            install.mutate();
          }}
        >
          <Field label="Certificate, PEM" hint="The chain may follow." error={install.error?.message}>
            {(tie) => (
              <textarea
                {...tie}
                rows={6}
                spellCheck={false}
                className="mono"
                placeholder="-----BEGIN CERTIFICATE-----"
                value={certificate}
                onChange={(event) => setCertificate(event.currentTarget.value)}
              />
            )}
          </Field>
          <p className="row">
            <button
              type="submit"
              className="primary"
              disabled={install.isPending || !certificate.includes('BEGIN CERTIFICATE')}
            >
              Install
            </button>
          </p>
        </form>
      )}
    </Step>
  );
}

function RetireStep({
  path,
  replaced,
}: {
  readonly path: string;
  readonly replaced: readonly DomainKey[];
}): ReactNode {
  const [retiring, setRetiring] = useState<DomainKey>();
  return (
    <Step title="Retire the old key" isDone={false} isWaiting={replaced.length === 0}>
      {replaced.length === 0 ? (
        <p className="muted">
          Wait until the new certificate is published and the TTL of the old record has passed.
        </p>
      ) : (
        <ul className="stack">
          {replaced.map((key) => (
            <li key={key.id} className="row">
              <span>
                {key.owner}
                <span className="faint">
                  , ends <Time at={endOf(key)} as="day" />
                </span>
              </span>
              <button type="button" onClick={() => setRetiring(key)}>
                Retire
              </button>
            </li>
          ))}
        </ul>
      )}
      {retiring !== undefined && (
        <RetireKey path={path} subject={retiring} onClose={() => setRetiring(undefined)} />
      )}
    </Step>
  );
}
