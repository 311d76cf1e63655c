import type { ReactNode } from 'react';
import { Field } from './fields.tsx';

/** Direct addresses, one per line. */
export function AddressesField({
  label = 'Direct addresses',
  hint = 'one per line: name@domain, or @domain for every address of a domain',
  rows = 3,
  text,
  onText,
  error,
}: {
  readonly label?: string;
  readonly hint?: string;
  readonly rows?: number;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly error: string | undefined;
}): ReactNode {
  return (
    <Field label={label} hint={hint} error={error}>
      {(tie) => (
        <textarea
          {...tie}
          rows={rows}
          spellCheck={false}
          className="mono"
          value={text}
          onChange={(event) => onText(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** What was typed there; commas and blanks separate, too. */
export const readAddresses = (text: string): string[] =>
  text.split(/[\s,;]+/).filter((address) => address !== '');
