import type { ReactNode } from 'react';

/** Directly after `@`, and before a dot: where a long address may be broken. */
const breaks = /(?<=@)|(?=\.)/;

/**
 * Text with places where it may be broken, so that no word of it is. No `<wbr>`: it would be a space in the
 * name of a link ("ann@ direct .example").
 */
export function breakable(text: string): ReactNode {
  return text.split(breaks).map((part, index) => (
    // The parts of one text never change their order.
    <span key={`${index} ${part}`} className={index > 0 ? 'may-break' : undefined}>
      {part}
    </span>
  ));
}

/** One or more Direct addresses, or a domain; truncated in one-line rows, complete in the title. */
export function Address({ of }: { readonly of: string }): ReactNode {
  return (
    <span className="address" title={of}>
      {breakable(of)}
    </span>
  );
}
