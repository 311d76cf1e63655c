import { useEffect, useState, type ReactNode } from 'react';
import { Icon } from './icon.tsx';

const pauseMs = 200;

/**
 * The screen's search box, focused by `/`. It reports the input after a pause in typing, and at once on
 * Enter.
 */
export function SearchBox({
  label,
  placeholder,
  value,
  onSearch,
}: {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onSearch: (text: string, isEntered: boolean) => void;
}): ReactNode {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onSearch(text, false), pauseMs);
    return () => clearTimeout(timer);
  }, [text, value, onSearch]);
  return (
    <form
      className="search"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(text, true);
      }}
    >
      <Icon name="search" />
      <input
        type="search"
        data-search=""
        aria-label={label}
        placeholder={placeholder}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}
