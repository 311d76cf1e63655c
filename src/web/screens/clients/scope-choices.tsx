import type { ReactNode } from 'react';
import type { NewClient } from '../../../app/console/contract/index.ts';

export type Scope = NewClient['scopes'][number];

const scopes: readonly { readonly name: Scope; readonly text: string }[] = [
  { name: 'messaging.api', text: 'send, track and receive messages' },
  { name: 'provider-directory', text: 'search the directory' },
  { name: 'provisioning', text: 'change the addresses of its organization' },
  { name: 'forwarding', text: 'deliver mail of any address of its organization to others of it' },
];

/** What a client may do. */
export function ScopeChoices({
  chosen,
  onChosen,
}: {
  readonly chosen: readonly Scope[];
  readonly onChosen: (chosen: readonly Scope[]) => void;
}): ReactNode {
  return (
    <fieldset className="choices">
      <legend>Permissions</legend>
      {scopes.map((scope) => (
        <label key={scope.name}>
          <input
            type="checkbox"
            checked={chosen.includes(scope.name)}
            onChange={({ currentTarget }) => {
              const others = chosen.filter((one) => one !== scope.name);
              onChosen(currentTarget.checked ? [...others, scope.name] : others);
            }}
          />
          <span>
            {scope.text} <code className="faint">{scope.name}</code>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
