/** Text of the forms that are open, by form. */
export const openDrafts = new Map<string, unknown>();
const storageKey = 'drafts';

interface Kept {
  readonly operatorId: string;
  readonly drafts: Readonly<Record<string, unknown>>;
}

/**
 * False if somebody has pasted a file with a key where its certificate belongs: no storage of the browser is
 * for that.
 */
const isFitToKeep = ([, draft]: [form: string, draft: unknown]): boolean =>
  !JSON.stringify(draft).includes('PRIVATE KEY');

/** Keeps the text of the open forms of an operator whose session has ended. */
export function keepDrafts(operatorId: string): void {
  const drafts = [...openDrafts].filter(isFitToKeep);
  if (drafts.length === 0) return;
  const kept: Kept = { operatorId, drafts: Object.fromEntries(drafts) };
  try {
    sessionStorage.setItem(storageKey, JSON.stringify(kept));
  } catch {
    // Too long for the browser's storage: the session ends without it.
  }
}

export function dropDrafts(): void {
  sessionStorage.removeItem(storageKey);
}

/** The kept text of the operator; that of another one is dropped. */
export function readKept(operatorId: string): Kept | undefined {
  const text = sessionStorage.getItem(storageKey);
  if (text === null) return undefined;
  const kept = JSON.parse(text) as Kept;
  if (kept.operatorId === operatorId) return kept;
  dropDrafts();
  return undefined;
}

/** The kept text of one form, which is kept no longer. */
export function takeKept(form: string, operatorId: string): unknown {
  const kept = readKept(operatorId);
  const draft = kept?.drafts[form];
  if (kept === undefined || draft === undefined) return undefined;
  const { [form]: _taken, ...drafts } = kept.drafts;
  if (Object.keys(drafts).length === 0) dropDrafts();
  else sessionStorage.setItem(storageKey, JSON.stringify({ ...kept, drafts }));
  return draft;
}
