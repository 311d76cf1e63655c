import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Level } from '../../app/console/contract/index.ts';
import { StateShape } from './states.tsx';

export interface Tile {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
  readonly tone: Level;
  /** The list that the tile counts; empty if there is none. */
  readonly href: string;
}

/** Numbers that link to their lists. */
export function Tiles({ tiles }: { readonly tiles: readonly Tile[] }): ReactNode {
  return (
    <ul className="tiles">
      {tiles.map((tile) => (
        <li key={tile.name}>
          {tile.href === '' ? (
            <div className="tile">
              <Content tile={tile} />
            </div>
          ) : (
            <Link href={tile.href} data-row="" className="tile">
              <Content tile={tile} />
            </Link>
          )}
        </li>
      ))}
    </ul>
  );
}

function Content({ tile: { name, value, note, tone } }: { readonly tile: Tile }): ReactNode {
  return (
    <>
      <span className="tile-name">
        {tone !== 'none' && <StateShape tone={tone} />} {name}
      </span>
      <span className="tile-value" data-tone={tone}>
        {value}
      </span>
      {note !== undefined && <span className="tile-note">{note}</span>}
    </>
  );
}
