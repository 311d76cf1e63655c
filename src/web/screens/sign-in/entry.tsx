import { startRegistration, type PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/browser';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, type ReactNode } from 'react';
import type { LinkAnswer } from '../../../app/console/contract/index.ts';
import { ApiError, askInTime } from '../../api/client.ts';
import { Icon } from '../../components/icon.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { Gate } from './gate.tsx';
import { passkeyFault } from './passkey-fault.ts';

/** The page that a link opens: it starts a session, or registers a passkey. */
export function EntryScreen({
  token,
  onDone,
}: {
  readonly token: string;
  readonly onDone: () => void;
}): ReactNode {
  const client = useQueryClient();
  const enter = useMutation<LinkAnswer, Error>({
    mutationFn: () => askInTime<LinkAnswer>('/sign-in/link', { token }),
    onSuccess: ({ kind }) => {
      if (kind !== 'signed-in') return;
      // Of the session before, too, if there was one.
      client.removeQueries();
      onDone();
    },
  });
  const isSent = useRef(false);
  const { mutate } = enter;
  useEffect(() => {
    if (isSent.current) return;
    isSent.current = true;
    mutate();
  }, [mutate]);
  if (enter.isError && !isOfLink(enter.error))
    return (
      <Gate title="The console did not open">
        <ErrorState error={enter.error} onRetry={() => mutate()} />
      </Gate>
    );
  if (enter.isError) {
    return (
      <Gate title="This link does not work">
        <p role="alert">
          {enter.error.message} Links work once and for a short time. Whoever runs this service makes one with{' '}
          <code>openhisp operator link</code>.
        </p>
        <p>
          <button type="button" onClick={onDone}>
            Go to the console
          </button>
        </p>
      </Gate>
    );
  }
  if (enter.data?.kind === 'enrol')
    return <Enrol token={token} operator={enter.data.operator} onDone={onDone} />;
  return (
    <Gate title="Opening the console">
      <LoadingState lines={2} label="Opening the console" />
    </Gate>
  );
}

/** False if the server did not say that the link is refused: it may still work. */
function isOfLink(error: Error): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
}

function Enrol({
  token,
  operator,
  onDone,
}: {
  readonly token: string;
  readonly operator: LinkAnswer['operator'];
  readonly onDone: () => void;
}): ReactNode {
  const client = useQueryClient();
  const enrol = useMutation<void, Error>({
    mutationFn: async () => {
      const optionsJSON = await askInTime<PublicKeyCredentialCreationOptionsJSON>('/enrol/passkey/options', {
        token,
      });
      const response = await startRegistration({ optionsJSON });
      await askInTime('/enrol/passkey/verify', { token, response });
    },
    onSuccess: () => {
      client.removeQueries();
      onDone();
    },
  });
  return (
    <Gate title={`Welcome, ${operator.name}`}>
      <p>
        Your role is <b>{operator.role}</b>. Create a passkey now; afterwards you sign in with this device's
        lock, and no password exists.
      </p>
      <p>
        <button type="button" className="primary" disabled={enrol.isPending} onClick={() => enrol.mutate()}>
          <Icon name="key" /> {enrol.isPending ? 'Waiting for the device' : 'Create my passkey'}
        </button>
      </p>
      {enrol.isError && (
        <p role="alert">
          <StateMark tone="failed">{passkeyFault(enrol.error)}</StateMark>
        </p>
      )}
    </Gate>
  );
}
