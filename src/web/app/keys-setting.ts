import { createStoredSetting } from './stored-setting.ts';

const setting = createStoredSetting('keys', (text) => text !== 'off');

/** False if this browser's operator has switched the keys off. */
export const areKeysOn = setting.current;

/**
 * Whether letters are shortcuts, and its setter. Who dictates, or hits keys unintentionally, needs a way to
 * switch them off (WCAG 2.1.4).
 */
export function useKeysSetting(): readonly [boolean, (isOn: boolean) => void] {
  return [setting.use(), setKeys];
}

function setKeys(isOn: boolean): void {
  setting.store(isOn ? undefined : 'off');
}
