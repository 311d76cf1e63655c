import type { ReactNode } from 'react';

/** A Direct address, or several; cut where rows are one line, and whole in its title. */
export function Address({ of }: { readonly of: string }): ReactNode {
  return (
    <span className="address" title={of}>
      {of}
    </span>
  );
}
