import type { ReactNode } from 'react';

/** SVG paths on a 16 × 16 grid. */
const shapes: Readonly<Record<string, string>> = {
  now: 'M1.5 8.5h3l2-5 3 9 2-4h3',
  messages: 'M2 4h12v8.5H2zM2.3 4.4 8 8.8l5.7-4.4',
  queue: 'M2 4h12M2 8h9M2 12h6',
  inbound: 'M2 9.5v3.5h12V9.5M8 2v7.5M5 6.7l3 3 3-3',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4 14 14',
  check: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4 14 14M5.2 7l1.4 1.4L9 5.8',
  directory: 'M3 2.5h10v11H3zM5.8 6h4.4M5.8 8.5h4.4M5.8 11h2.4',
  webhooks:
    'M8 2.6a2.3 2.3 0 0 1 1.2 4.2l2 3.4M8 4.9 5.9 9M4 9.2a2.3 2.3 0 1 0 2.2 2.6h4M12 9.2a2.3 2.3 0 1 1-1.7 3.9',
  domains: 'M8 2 3 4v4c0 3 2.2 5 5 6 2.8-1 5-3 5-6V4zM5.8 8l1.6 1.6 2.9-3.2',
  clients:
    'M6 3.5a2.3 2.3 0 1 0 0 4.6 2.3 2.3 0 0 0 0-4.6zM2 13c.3-2 1.9-3 4-3s3.7 1 4 3M10.5 3.8a2 2 0 0 1 0 3.9M12 10.3c1.2.4 1.9 1.3 2 2.7',
  organizations: 'M2 13.5h12M3.5 13.5v-11h9v11M6 5.5h1M9 5.5h1M6 8.2h1M9 8.2h1M7 13.5v-2.6h2v2.6',
  edges: 'M2.5 3.5h11v7h-11zM5.5 13.5h5M8 10.5v3M5 6.2l1.6 1.5L5 9.2',
  nodes: 'M2.5 2.5h11v4.5h-11zM2.5 9h11v4.5h-11zM5 4.8h.1M5 11.3h.1M8 4.8h3M8 11.3h3',
  operators: 'M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM2.8 13.5c.4-2.6 2.5-4 5.2-4s4.8 1.4 5.2 4',
  usage: 'M2.5 13.5h11M4 13.5V8.5M8 13.5v-11M12 13.5V6',
  audit: 'M3 2.5h7l3 3v8H3zM10 2.5v3h3M5.5 8.5h5M5.5 11h5',
  playground: 'M5 3l7.5 5L5 13z',
  calendar: 'M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2v3M10.5 2v3',
  menu: 'M2 4.5h12M2 8h12M2 11.5h12',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  back: 'M9.5 3.5 5 8l4.5 4.5',
  next: 'M6.5 3.5 11 8l-4.5 4.5',
  down: 'M4 6.2 8 10.2l4-4',
  key: 'M10.5 2.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8.3 7.7 2.5 13.5M4.5 11.5l1.6 1.6',
  retry: 'M13 5a5.5 5.5 0 1 0 .5 4M13.3 2v3.2h-3.2',
};

/** A decorative drawing; the word next to it says what it means. */
export function Icon({ name }: { readonly name: string }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={shapes[name] ?? ''} />
    </svg>
  );
}

/** The mark: a ring that is open on one side, and the message that leaves through it. */
export function Mark(): ReactNode {
  return (
    <svg className="mark" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="8.5" />
      <path d="M22.4 10.2A8.6 8.6 0 1 0 22.4 21.8M14.5 16h11.2M22 12.3 25.7 16 22 19.7" />
    </svg>
  );
}

/** The mark with the name of the product. */
export function Wordmark(): ReactNode {
  return (
    <>
      <Mark />
      <span className="wordmark">
        open<b>hisp</b>
      </span>
    </>
  );
}
