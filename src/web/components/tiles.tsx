import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Level } from '../../app/console/contract/index.ts';
import { StateShape } from './states.tsx';

export interface Tile {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
  readonly tone: Level;
  /** The list that the tile counts. */
  readonly href: string;
}

/** Numbers that link to their lists. */
export function Tiles({ tiles }: { readonly tiles: readonly Tile[] }): ReactNode {
  return (
    <ul className="tiles">
      {tiles.map(({ name, value, note, tone, href }) => (
        <li key={name}>
          <Link href={href} data-row="">
            <span className="tile-name">
              <StateShape tone={tone} /> {name}
            </span>
            <span className="tile-value" data-tone={tone}>
              {value}
            </span>
            {note !== undefined && <span className="tile-note">{note}</span>}
          </Link>
        </li>
      ))}
    </ul>
  );
}
