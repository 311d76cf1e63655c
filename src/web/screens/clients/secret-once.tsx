import type { ReactNode } from 'react';
import type { IssuedSecret } from '../../../app/console/contract/index.ts';
import { Copy, CopyValue } from '../../components/copy.tsx';
import { Facts } from '../../components/screen.tsx';
import { StateMark } from '../../components/states.tsx';

/** A new secret, which cannot be shown again. */
export function SecretOnce({ issued, onDone }: { readonly issued: IssuedSecret; onDone(): void }): ReactNode {
  return (
    <div className="stack">
      <p>
        <StateMark tone="warning">The secret is shown this once.</StateMark> Hand it over by a safe way; only
        its hash is kept here.
      </p>
      <Facts
        facts={[
          ['Client id', <CopyValue key="id" value={issued.clientId} label="client id" />],
          ['Client secret', <CopyValue key="secret" value={issued.clientSecret} label="client secret" />],
          ['Secret id', <code key="secretId">{issued.secretId}</code>],
        ]}
      />
      <div className="dialog-actions">
        <Copy
          text={`CLIENT_ID='${issued.clientId}'\nCLIENT_SECRET='${issued.clientSecret}'\n`}
          label="Copy both"
        />
        <button type="button" className="primary" onClick={onDone}>
          I have saved it
        </button>
      </div>
    </div>
  );
}
