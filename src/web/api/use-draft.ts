import { useEffect, useState } from 'react';
import { openDrafts, readKept, takeKept } from './drafts.ts';
import { useSession } from './session.ts';

/**
 * As `useState`, for the text of a form: if the session ends while the form is open, the same operator finds
 * the text again after the next sign-in in this tab. Not for secrets, nor for text that may be about a
 * patient: it is stored in the browser until then.
 * @returns the value, its setter, and a function to call when the form has been sent: it is not kept after
 * that
 */
export function useDraft<Value>(
  form: string,
  initial: Value,
): readonly [value: Value, setValue: (value: Value) => void, drop: () => void] {
  const { operator } = useSession();
  const [begin] = useState(() => ({ initial, value: takeKept(form, operator.id) as Value | undefined }));
  const [value, setValue] = useState(begin.value ?? begin.initial);
  const isUsed = value !== begin.initial;
  useEffect(() => {
    if (isUsed) openDrafts.set(form, value);
    return () => void openDrafts.delete(form);
  }, [form, value, isUsed]);
  return [value, setValue, () => void openDrafts.delete(form)];
}

/** True if text of the form is kept, so that the form is opened at once. */
export function useHasDraft(form: string): boolean {
  const { operator } = useSession();
  return useState(() => readKept(operator.id)?.drafts[form] !== undefined)[0];
}
