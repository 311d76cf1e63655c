import type { ReactNode } from 'react';
import type { IssuedSecret } from '../../../app/console/contract/index.ts';
import { ShownOnce } from '../../components/secrets.tsx';

/** A new secret of a client. */
export function SecretOnce({ issued, onDone }: { readonly issued: IssuedSecret; onDone(): void }): ReactNode {
  const { clientId, clientSecret, secretId } = issued;
  return (
    <ShownOnce
      noun="secret"
      values={[
        ['Client id', clientId],
        ['Client secret', clientSecret],
      ]}
      id={['Secret id', secretId]}
      copy={['Copy both', `CLIENT_ID='${clientId}'\nCLIENT_SECRET='${clientSecret}'\n`]}
      onDone={onDone}
    />
  );
}
