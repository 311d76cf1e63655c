import type { ReactNode } from 'react';

/** Takes the room of the map while it is fetched, so that the results below do not move under the pointer. */
export function WaitingMap({ summary }: { readonly summary: string }): ReactNode {
  return (
    <figure className="us-map">
      <div className="us-map-waiting" />
      <figcaption>{summary}</figcaption>
    </figure>
  );
}
