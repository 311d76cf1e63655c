import { startAuthentication, type PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { SignedIn } from '../../../app/console/contract/index.ts';
import { ApiError, ask } from '../../api/client.ts';
import { sessionKey, useSession } from '../../api/session.ts';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorState } from '../../components/states.tsx';
import { passkeyFault } from './passkey-fault.ts';

const isStale = (error: Error): boolean =>
  error instanceof ApiError && error.problems.some(({ reason }) => reason === 'operators_sign_in_stale');

/**
 * A form whose action needs a sign-in of the last five minutes, and may ask for the passkey first; each use
 * of a passkey has its own button, as browsers require.
 */
export function FreshDialog<Answer>({
  title,
  action,
  isDangerous = false,
  work,
  onDone,
  onClose,
  children,
}: {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly work: () => Promise<Answer>;
  readonly onDone: (answer: Answer) => void | Promise<void>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const client = useQueryClient();
  const { operator } = useSession();
  const act = useMutation<Answer, Error>({ mutationFn: work, onSuccess: onDone });
  const confirm = useMutation<SignedIn, Error>({
    mutationFn: async () => {
      const optionsJSON = await ask<PublicKeyCredentialRequestOptionsJSON>('/sign-in/passkey/options');
      const response = await startAuthentication({ optionsJSON });
      return ask<SignedIn>('/sign-in/passkey/verify', response);
    },
    onSuccess: async (signedIn) => {
      act.reset();
      // A passkey of somebody else signs them in instead: nothing of the former operator may stay on the
      // page.
      if (signedIn.operator.id !== operator.id) return location.reload();
      for (const queryKey of [sessionKey, ['sessions'], ['passkeys']])
        await client.invalidateQueries({ queryKey });
    },
  });
  const mustConfirm = act.error !== null && isStale(act.error);
  const fault = mustConfirm ? confirm.error : act.error;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (mustConfirm) confirm.mutate();
          else act.mutate();
        }}
      >
        {mustConfirm ? (
          <p role="status">
            This needs a fresh sign-in. Confirm with one of your passkeys first; then it is allowed for five
            minutes. Without a passkey, sign out and in again.
          </p>
        ) : (
          children
        )}
        {fault !== null && <ErrorState error={new Error(passkeyFault(fault))} />}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className={isDangerous && !mustConfirm ? 'danger' : 'primary'}
            disabled={act.isPending || confirm.isPending}
          >
            {mustConfirm ? 'Confirm with a passkey' : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
