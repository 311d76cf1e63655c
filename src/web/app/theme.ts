import { createStoredSetting } from './stored-setting.ts';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const setting = createStoredSetting('theme', (text): Theme =>
  text === 'light' || text === 'dark' ? text : 'system',
);

/** The chosen theme and its setter. `system` follows the operating system. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  return [setting.use(), setTheme];
}

function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  setting.store(theme === 'system' ? undefined : theme);
}
