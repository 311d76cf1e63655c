import type { ReactNode } from 'react';

/** One or more Direct addresses; truncated in one-line rows, complete in the title. */
export function Address({ of }: { readonly of: string }): ReactNode {
  return (
    <span className="address" title={of}>
      {of}
    </span>
  );
}
