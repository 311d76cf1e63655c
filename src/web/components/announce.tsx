import {
  createContext,
  use,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  type FocusEvent,
  type ReactNode,
} from 'react';
import { Icon } from './icon.tsx';

export interface Announcement {
  readonly text: string;
  readonly tone?: 'ok' | 'failed';
}

/** A failure stays until it is dismissed, another result replaces it, or the session ends. */
const shownMs = 6000;

interface Shown {
  readonly announcement: Announcement | undefined;
  readonly isDialogOpen: boolean;
  readonly dismiss: () => void;
  /** Until the returned function is called, a dialog shows the results. */
  readonly openDialog: () => () => void;
}

const AnnounceContext = createContext<(announcement: Announcement) => void>(() => undefined);
const ShownContext = createContext<Shown>({
  announcement: undefined,
  isDialogOpen: false,
  dismiss: () => undefined,
  openDialog: () => () => undefined,
});

/** Shows the result of an action, also to screen readers. */
export function useAnnounce(): (announcement: Announcement) => void {
  return use(AnnounceContext);
}

/** Dismisses a failure when the calling component is removed: it concerns nobody after that. */
export function useDismissAtEnd(): void {
  const { dismiss } = use(ShownContext);
  useEffect(() => dismiss, [dismiss]);
}

export function Announcer({ children }: { readonly children: ReactNode }): ReactNode {
  const [announcement, setAnnouncement] = useState<Announcement>();
  const [dialogs, setDialogs] = useState(0);
  const announce = useCallback((next: Announcement) => setAnnouncement({ ...next }), []);
  const dismiss = useCallback(
    () => setAnnouncement((before) => (before?.tone === 'failed' ? undefined : before)),
    [],
  );
  const openDialog = useCallback(() => {
    setDialogs((count) => count + 1);
    return () => setDialogs((count) => count - 1);
  }, []);
  useEffect(() => {
    if (announcement === undefined || announcement.tone === 'failed') return undefined;
    const timer = setTimeout(() => setAnnouncement(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [announcement]);
  const shown = useMemo<Shown>(
    () => ({ announcement, isDialogOpen: dialogs > 0, dismiss, openDialog }),
    [announcement, dialogs, dismiss, openDialog],
  );
  return (
    <AnnounceContext value={announce}>
      <ShownContext value={shown}>
        {children}
        <Toasts />
      </ShownContext>
    </AnnounceContext>
  );
}

/** The results in an open dialog: what is behind it is neither read out nor reached. */
export function DialogToasts(): ReactNode {
  const { openDialog } = use(ShownContext);
  useEffect(openDialog, [openDialog]);
  return <Toasts isInDialog />;
}

/** Both regions stand before their text does, since a screen reader reads changes of a region only. */
function Toasts({ isInDialog = false }: { readonly isInDialog?: boolean }): ReactNode {
  const { announcement, isDialogOpen, dismiss } = use(ShownContext);
  const focusedBefore = useRef<HTMLElement>(null);
  const text = isInDialog === isDialogOpen ? announcement?.text : undefined;
  const isFailed = announcement?.tone === 'failed';
  const onDismiss = (): void => {
    const before = focusedBefore.current;
    (before?.isConnected === true ? before : document.querySelector<HTMLElement>('#main'))?.focus();
    dismiss();
  };
  return (
    <div className="toasts">
      <div role="status">{text !== undefined && !isFailed && <p data-tone="ok">{text}</p>}</div>
      <div role="alert">
        {text !== undefined && isFailed && (
          <p data-tone="failed">
            <span>{text}</span>{' '}
            <button
              type="button"
              className="quiet"
              onFocus={({ relatedTarget }: FocusEvent) => {
                focusedBefore.current = relatedTarget instanceof HTMLElement ? relatedTarget : null;
              }}
              onClick={onDismiss}
            >
              <Icon name="close" />
              <span className="visually-hidden">Dismiss</span>
            </button>
          </p>
        )}
      </div>
    </div>
  );
}
