import type { ReactNode } from 'react';
import { Copy } from './copy.tsx';

/** A word as a shell reads it. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The command that does the same as the form or the dialog around it, to copy. */
export function Command({
  words,
  label = 'The same as a command',
}: {
  readonly words: readonly (string | undefined)[];
  readonly label?: string;
}): ReactNode {
  const text = ['openhisp', ...words.filter((word) => word !== undefined).map(quote)].join(' ');
  return (
    <div className="command">
      <span className="muted small">{label}</span>
      <div className="row">
        <code>{text}</code>
        <Copy text={text} label="Copy the command" isIcon />
      </div>
    </div>
  );
}
