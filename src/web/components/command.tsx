import type { ReactNode } from 'react';
import { Copy } from './copy.tsx';
import { quoteWord } from './quote-word.ts';

/** The command that does the same as the form or the dialog around it, to copy. */
export function Command({
  words,
  label = 'The same as a command',
}: {
  readonly words: readonly (string | undefined)[];
  readonly label?: string;
}): ReactNode {
  const text = ['openhisp', ...words.filter((word) => word !== undefined).map(quoteWord)].join(' ');
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
