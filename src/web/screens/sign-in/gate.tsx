import { useEffect, type ReactNode } from 'react';
import { Wordmark } from '../../components/icon.tsx';

/** The frame of the pages before sign-in. */
export function Gate({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}): ReactNode {
  useEffect(() => {
    document.title = `${title} · openhisp`;
  }, [title]);
  return (
    <main className="gate">
      <p className="brand-name">
        <Wordmark />
      </p>
      <h1>{title}</h1>
      {children}
    </main>
  );
}
