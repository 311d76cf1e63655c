import { Fragment, type ReactNode } from 'react';

/** A Direct address, or several: it breaks after its @ and its dots rather than anywhere, and is cut where rows are one line. */
export function Address({ of }: { readonly of: string }): ReactNode {
  return (
    <span className="address" title={of}>
      {of.split(/(?<=[@.])/).map((part, index) => (
        <Fragment key={`${index} ${part}`}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  );
}
