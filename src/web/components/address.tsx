import { Fragment, type ReactNode } from 'react';

/** A Direct address that breaks after its @ and its dots rather than anywhere. */
export function Address({ of }: { readonly of: string }): ReactNode {
  const parts = of.split(/(?<=[@.])/);
  return parts.map((part, index) => (
    <Fragment key={`${index} ${part}`}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
