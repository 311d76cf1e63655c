import { createContext, use, useCallback, useEffect, useState, type ReactNode } from 'react';

export interface Announcement {
  readonly text: string;
  readonly tone?: 'ok' | 'failed';
}

const shownMs = 6000;
const AnnounceContext = createContext<(announcement: Announcement) => void>(() => undefined);

/** Shows the result of an action, also to screen readers. */
export function useAnnounce(): (announcement: Announcement) => void {
  return use(AnnounceContext);
}

export function Announcer({ children }: { readonly children: ReactNode }): ReactNode {
  const [shown, setShown] = useState<Announcement>();
  const announce = useCallback((announcement: Announcement) => setShown({ ...announcement }), []);
  useEffect(() => {
    if (shown === undefined) return undefined;
    const timer = setTimeout(() => setShown(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [shown]);
  return (
    <AnnounceContext value={announce}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {shown !== undefined && <p data-tone={shown.tone ?? 'ok'}>{shown.text}</p>}
      </div>
    </AnnounceContext>
  );
}
