import { useEffect } from 'react';
import { areKeysOn } from './keys-setting.ts';
import type { ScreenEntry } from './screens.tsx';

/** Time after `g` in which a letter opens a screen. */
const chordMs = 1500;

export interface KeyActions {
  readonly open: (path: string) => void;
  readonly showHelp: () => void;
  /** Those that a letter opens after `g`. */
  readonly screens: readonly ScreenEntry[];
}

/**
 * The keys that work on every screen. Rows are the links marked `data-row`, the search box is the input
 * marked `data-search`. Keys are ignored while a text is edited, a dialog is open, Ctrl, Alt or Meta is held,
 * or they are switched off.
 */
export function useKeyboard({ open, showHelp, screens }: KeyActions): void {
  useEffect(() => {
    let chordAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
      if (isEdited(event.target)) {
        if (event.key === 'Escape' && event.target instanceof HTMLElement) event.target.blur();
        // From the search box to the results.
        else if (event.key === 'ArrowDown' && isSearch(event.target)) act(event, () => moveRow(1));
        return;
      }
      if (document.querySelector('dialog[open]') !== null || !areKeysOn()) return;
      if (performance.now() - chordAt < chordMs) {
        chordAt = Number.NEGATIVE_INFINITY;
        const screen = screens.find(({ letter }) => letter === event.key);
        if (screen === undefined) return;
        event.preventDefault();
        open(screen.paths[0]);
        return;
      }
      if (event.key === 'g') chordAt = performance.now();
      else if (event.key === '?') act(event, showHelp);
      else if (event.key === '/') act(event, () => focusSearch(open));
      else if (event.key === 'j') act(event, () => moveRow(1));
      else if (event.key === 'k') act(event, () => moveRow(-1));
      else if (event.key === 'x') act(event, toggleRow);
      else if (event.key === 'o') act(event, unfoldRow);
      else if (event.key === '.') act(event, () => clickMarked('[data-new]'));
      else if (event.key === 'u') act(event, () => clickMarked('[data-up]'));
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [open, showHelp, screens]);
}

function act(event: KeyboardEvent, action: () => void): void {
  event.preventDefault();
  action();
}

function isEdited(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches('textarea, select')) return true;
  return (
    target instanceof HTMLInputElement && !['checkbox', 'radio', 'button', 'submit'].includes(target.type)
  );
}

function isSearch(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.dataset['search'] !== undefined;
}

function focusSearch(open: (path: string) => void): void {
  const box = document.querySelector<HTMLInputElement>('[data-search]');
  if (box === null) {
    open('/messages');
    return;
  }
  box.focus();
  box.select();
}

function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const active = document.activeElement?.closest('tr, li')?.querySelector<HTMLElement>('[data-row]');
  const at = active ? rows.indexOf(active) : -1;
  const next =
    at === -1 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: 'nearest' });
}

function toggleRow(): void {
  document.activeElement
    ?.closest('tr, li')
    ?.querySelector<HTMLInputElement>('input[type=checkbox][data-pick]')
    ?.click();
}

function unfoldRow(): void {
  document.activeElement?.closest('tr')?.querySelector<HTMLElement>('[data-unfold]')?.click();
}

function clickMarked(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.click();
}
