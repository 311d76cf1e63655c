import { Fragment, type ReactNode } from 'react';
import { breakable } from './address.tsx';
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
  const quoted = ['openhisp', ...words.filter((word) => word !== undefined).map(quoteWord)];
  const text = quoted.join(' ');
  return (
    <div className="command">
      <span className="muted small">{label}</span>
      <div className="row">
        <code>
          {quoted.map((word, index) => (
            // The words of one command never change their order.
            <Fragment key={`${index} ${word}`}>
              {index > 0 && ' '}
              <span>{word.startsWith('--') ? word : breakable(word)}</span>
            </Fragment>
          ))}
        </code>
        <Copy text={text} label="Copy the command" isIcon />
      </div>
    </div>
  );
}
