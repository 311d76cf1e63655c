/**
 * The pages before sign-in: sign in, or open a link that registers a passkey.
 * Used by `web/app`.
 * Begin with this file.
 */
import { startAuthentication, type PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Redirect, useSearchParams } from 'wouter';
import type { SignInMethods } from '../../../app/console/contract/index.ts';
import { apiUrl, askInTime, getInTime, type ApiError } from '../../api/client.ts';
import { sessionKey, useSessionQuery } from '../../api/session.ts';
import { Icon } from '../../components/icon.tsx';
import { ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { Gate } from './gate.tsx';
import { passkeyFault } from './passkey-fault.ts';

/**
 * Only a path of this console: a link must not redirect to another site after sign-in. The server applies the
 * same rule, and its limit of 1,000 characters, to a sign-in by the provider.
 */
const ownPath = /^\/(?![/\\])[\x21-\x7e]{0,999}$/;

/** Messages for a session that ended and for a failed sign-in with the provider, by the code in the URL. */
const problems: Readonly<Record<string, string>> = {
  CONSOLE_SESSION_ENDED: 'Your session has ended. Sign in to go on where you were.',
  OPERATORS_ROLE_MISSING: 'Your organization has not given you a role for this console.',
  OPERATORS_NAME_TAKEN:
    'Another operator of this HISP already has your name, or one that looks like it. Ask for a different name.',
  OPERATORS_NAME_INVALID:
    'Your organization gives you no name that can be used here. Ask for one in Latin letters.',
  OPERATORS_PROVIDER_UNREACHABLE:
    'The sign-in service of your organization cannot be reached. Try again later.',
  OPERATORS_PROVIDER_REFUSED: 'Your organization did not confirm the sign-in. Start again.',
  OPERATORS_CEREMONY_INVALID: 'The sign-in took too long or was started in another browser. Start again.',
  OPERATORS_SESSION_INVALID: 'You no longer have access to this console.',
  OPERATORS_ATTEMPTS_EXCEEDED: 'Too many sign-ins. Wait a minute.',
};

/** The code is text of whoever wrote the link. */
const sentenceFor = (problem: string): string =>
  (Object.hasOwn(problems, problem) ? problems[problem] : undefined) ?? 'The sign-in failed. Try again.';

/** Sign-in with a passkey or with the organization's OpenID provider. */
export function SignInScreen(): ReactNode {
  const session = useSessionQuery();
  const [parameters] = useSearchParams();
  const asked = parameters.get('after') ?? '/';
  const after = ownPath.test(asked) ? asked : '/';
  const problem = parameters.get('problem');
  const methods = useQuery<SignInMethods, ApiError>({
    queryKey: ['sign-in', 'methods'],
    queryFn: ({ signal }) => getInTime<SignInMethods>('/sign-in/methods', signal),
  });
  if (session.data) return <Redirect to={after} replace />;
  return (
    <Gate title="Sign in to secure messaging">
      {problem !== null && (
        <p role="alert">
          <StateMark tone="failed">{sentenceFor(problem)}</StateMark>
        </p>
      )}
      {methods.isPending && <LoadingState lines={2} />}
      {methods.isError && <ErrorState error={methods.error} onRetry={() => void methods.refetch()} />}
      {methods.data?.passkey === true && <Passkey />}
      {methods.data?.oidc && (
        <p>
          <a className="button" href={apiUrl('/sign-in/oidc', { after })}>
            Sign in with {methods.data.oidc.name}
          </a>
        </p>
      )}
      {methods.data?.passkey === true && (
        <p className="muted small">
          With the fingerprint, face, PIN or security key with which you unlock this device.
        </p>
      )}
      <details>
        <summary>First time here?</summary>
        <p>
          Ask the person who runs secure messaging in your organization for a link. It works once, and takes a
          minute.
        </p>
      </details>
      <details>
        <summary>For whoever runs this service</summary>
        <p>
          <code>openhisp operator create</code> prints such a link. In the sandbox, <code>npm start</code>{' '}
          prints one that is already signed in.
        </p>
      </details>
    </Gate>
  );
}

function Passkey(): ReactNode {
  const client = useQueryClient();
  const signIn = useMutation<void, Error>({
    mutationFn: async () => {
      const optionsJSON = await askInTime<PublicKeyCredentialRequestOptionsJSON>('/sign-in/passkey/options');
      const response = await startAuthentication({ optionsJSON });
      await askInTime('/sign-in/passkey/verify', response);
    },
    onSuccess: () => client.invalidateQueries({ queryKey: sessionKey }),
  });
  return (
    <>
      <p>
        <button type="button" className="primary" disabled={signIn.isPending} onClick={() => signIn.mutate()}>
          <Icon name="key" /> {signIn.isPending ? 'Waiting for the passkey' : 'Sign in with a passkey'}
        </button>
      </p>
      {signIn.isError && <p role="alert">{passkeyFault(signIn.error)}</p>}
    </>
  );
}
