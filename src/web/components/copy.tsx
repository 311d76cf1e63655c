import { useState, type ReactNode } from 'react';
import { breakable } from './address.tsx';
import { useAnnounce } from './announce.tsx';
import { Icon } from './icon.tsx';

/** Copies a text to the clipboard. `text` may be a function that fetches it. */
export function Copy({
  text,
  label = 'Copy',
  isIcon = false,
}: {
  readonly text: string | (() => Promise<string>);
  readonly label?: string;
  readonly isIcon?: boolean;
}): ReactNode {
  const announce = useAnnounce();
  const [isBusy, setBusy] = useState(false);
  const copy = async (): Promise<void> => {
    setBusy(true);
    try {
      // The property is missing on a page without HTTPS, unless it is on localhost.
      if (!isSecureContext) throw new Error('the browser needs HTTPS for it. Select the text instead.');
      await navigator.clipboard.writeText(typeof text === 'string' ? text : await text());
      announce({ text: 'Copied.' });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      announce({ text: `Not copied: ${why}`, tone: 'failed' });
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      className={isIcon ? 'quiet' : undefined}
      disabled={isBusy}
      title={isIcon ? label : undefined}
      onClick={() => void copy()}
    >
      <Icon name="copy" />
      <span className={isIcon ? 'visually-hidden' : undefined}>{label}</span>
    </button>
  );
}

/** A value in full, with a button that copies it. */
export function CopyValue({ value, label }: { readonly value: string; readonly label: string }): ReactNode {
  return (
    <span className="copy-value">
      <code>{breakable(value)}</code>
      <Copy text={value} label={`Copy ${label}`} isIcon />
    </span>
  );
}
