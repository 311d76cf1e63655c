import type { ReactNode } from 'react';
import { Dialog } from '../components/dialog.tsx';
import { useKeysSetting } from './keys-setting.ts';
import { useSession } from '../api/session.ts';
import { listScreens } from './screens.tsx';

const keys: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['↓', 'from the search box to the first row'],
  ['j  k', 'next row, previous row'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['o', 'show the whole row, or one line of it'],
  ['.', 'show new rows'],
  ['u', 'back to the list'],
  ['Esc', 'leave a field, close a dialog'],
  ['?', 'show this list'],
];

/** Lists the keyboard shortcuts, and switches them on and off. */
export function HelpDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [isOn, setOn] = useKeysSetting();
  const shown = listScreens(useSession());
  return (
    <Dialog title="Keys" onClose={onClose}>
      <label className="choice">
        <input type="checkbox" checked={isOn} onChange={(event) => setOn(event.currentTarget.checked)} />
        <span>Use these keys in this browser</span>
      </label>
      <div className="keys">
        <KeyList rows={keys} />
        <KeyList rows={shown.map(({ letter, name }) => [`g  ${letter}`, name] as const)} />
      </div>
    </Dialog>
  );
}

function KeyList({ rows }: { readonly rows: readonly (readonly [string, string])[] }): ReactNode {
  return (
    <dl className="key-list">
      {rows.map(([key, meaning]) => (
        <div key={key}>
          <dt>
            {key.split('  ').map((part) => (
              <kbd key={part}>{part}</kbd>
            ))}
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
