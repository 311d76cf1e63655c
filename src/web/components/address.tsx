import { Fragment, type ReactNode } from 'react';

/** Directly after `@`, and before a dot: where a long address may be broken. */
const breaks = /(?<=@)|(?=\.)/;

/** One or more Direct addresses, or a domain; truncated in one-line rows, complete in the title. */
export function Address({ of }: { readonly of: string }): ReactNode {
  return (
    <span className="address" title={of}>
      {of.split(breaks).map((part, index) => (
        // The parts of one address never change their order.
        <Fragment key={`${index} ${part}`}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  );
}
