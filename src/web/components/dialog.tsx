import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { breakable } from './address.tsx';
import { DialogToasts } from './announce.tsx';
import { Icon } from './icon.tsx';
import { ErrorState, LoadingState } from './states.tsx';

/**
 * A modal dialog: the browser traps focus, closes on Escape, and restores focus. Its first field has the
 * focus. While it is locked, nothing closes it: an answer that is shown once is on its way.
 */
export function Dialog({
  title,
  children,
  onClose,
  isWide = false,
  isLocked = false,
}: {
  readonly title: string;
  readonly children: ReactNode;
  readonly onClose: () => void;
  readonly isWide?: boolean;
  readonly isLocked?: boolean;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    focusFirstField(element);
    return () => {
      element?.close();
      if (before instanceof HTMLElement) before.focus();
      // The button that opened it is disabled or gone.
      if (document.activeElement === document.body) document.querySelector<HTMLElement>('#main')?.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      data-wide={isWide}
      onCancel={(event) => {
        event.preventDefault();
        if (!isLocked) onClose();
      }}
      // Chromium closes a dialog at the second Escape, whatever was prevented at the first.
      onClose={({ currentTarget }) => {
        if (isLocked) currentTarget.showModal();
      }}
    >
      <div className="dialog-head">
        <h2 id={heading}>{title.includes('@') ? breakable(title) : title}</h2>
        <button type="button" className="quiet" disabled={isLocked} onClick={onClose}>
          <Icon name="close" />
          <span className="visually-hidden">Close</span>
        </button>
      </div>
      {children}
      <DialogToasts />
    </dialog>
  );
}

/** True if there is a field; the button that closes the dialog would have the focus else. */
function focusFirstField(element: HTMLElement | null): boolean {
  const field = element?.querySelector<HTMLElement>('input, textarea, select') ?? undefined;
  field?.focus();
  return field !== undefined;
}

/** Asks for confirmation of an action and shows its effect, which `preview` reads. */
export function Confirm<Preview>({
  title,
  action,
  isDangerous = false,
  preview,
  render,
  canConfirm = () => true,
  onConfirm,
  onClose,
}: {
  readonly title: string;
  /** The label of the button that confirms. */
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly preview: () => Promise<Preview>;
  readonly render: (preview: Preview) => ReactNode;
  readonly canConfirm?: (preview: Preview) => boolean;
  /** Runs the action. Its error is shown in the dialog. */
  readonly onConfirm: (preview: Preview) => Promise<void>;
  readonly onClose: () => void;
}): ReactNode {
  const [shown, setShown] = useState<{ readonly value: Preview }>();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const read = useRef(preview);
  const button = useRef<HTMLButtonElement>(null);
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let isOpen = true;
    read.current().then(
      (value) => {
        if (isOpen) setShown({ value });
      },
      (reason: unknown) => {
        if (isOpen) setError(reason instanceof Error ? reason : new Error(String(reason)));
      },
    );
    return () => {
      isOpen = false;
    };
  }, []);
  useEffect(() => {
    if (shown !== undefined && !focusFirstField(body.current)) button.current?.focus();
  }, [shown]);
  const confirm = async (): Promise<void> => {
    if (shown === undefined) return;
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm(shown.value);
      onClose();
    } catch (reason) {
      setError(reason instanceof Error ? reason : new Error(String(reason)));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        {error !== undefined && <ErrorState error={error} />}
        {shown === undefined && error === undefined && <LoadingState lines={2} />}
        {shown !== undefined && (
          <div ref={body} className="dialog-body">
            {render(shown.value)}
          </div>
        )}
        {isBusy && (
          <p className="muted" role="status">
            In progress. Closing this dialog does not stop it.
          </p>
        )}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            {isBusy ? 'Close' : 'Cancel'}
          </button>
          <button
            ref={button}
            type="submit"
            className={isDangerous ? 'danger' : 'primary'}
            disabled={shown === undefined || isBusy || !canConfirm(shown.value)}
          >
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
