import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ApiError } from '../api/client.ts';
import { Dialog } from './dialog.tsx';
import { ErrorState } from './states.tsx';

/** A form in a dialog: it is sent once, refused fields say why, and any other refusal is shown below. */
export function FormDialog<Answer>({
  title,
  action,
  fields,
  canSend = true,
  isWide = false,
  isDangerous = false,
  above,
  send,
  onDone,
  onClose,
  children,
}: {
  readonly title: string;
  /** The label of the button that sends. */
  readonly action: string;
  /** The fields whose problems `children` shows. */
  readonly fields: readonly string[];
  readonly canSend?: boolean;
  readonly isWide?: boolean;
  readonly isDangerous?: boolean;
  /** Shown above the form and not part of it: what opens dialogs with forms of their own. */
  readonly above?: ReactNode;
  readonly send: () => Promise<Answer>;
  readonly onDone: (answer: Answer) => void;
  readonly onClose: () => void;
  readonly children: (problemOf: (field: string) => string | undefined) => ReactNode;
}): ReactNode {
  const sending = useMutation<Answer, ApiError>({ mutationFn: send, onSuccess: onDone });
  const problemOf = (field: string): string | undefined =>
    sending.error?.problems.find((problem) => problem.field.startsWith(field))?.detail;
  const isShown = fields.some((field) => problemOf(field) !== undefined);
  return (
    <Dialog title={title} onClose={onClose} isLocked={sending.isPending} isWide={isWide}>
      {above}
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          sending.mutate();
        }}
      >
        {children(problemOf)}
        {sending.error !== null && !isShown && <ErrorState error={sending.error} />}
        <div className="dialog-actions">
          <button type="button" disabled={sending.isPending} onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className={isDangerous ? 'danger' : 'primary'}
            disabled={sending.isPending || !canSend}
          >
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
