import type { Vault } from '../../../platform/index.ts';
import { ConsoleError } from '../errors.ts';

/** Cursors of one list. */
export interface Cursors {
  /** For `next` of a page. */
  write(position: string | undefined): string | null;
  /** Throws CONSOLE_REQUEST_INVALID for a cursor that this list has not issued. */
  read(cursor: string | undefined): string | undefined;
}

/**
 * Names the list in its cursors, so that the cursor of another list, or an invented one, is refused instead
 * of silently showing a wrong page. `positions`: the form of the positions that the list's service returns.
 */
export function cursorsOf(list: string, positions: RegExp): Cursors {
  const prefix = `${list}.`;
  return {
    write: (position) => (position === undefined ? null : `${prefix}${position}`),
    read(cursor) {
      if (cursor === undefined) return undefined;
      const position = cursor.slice(prefix.length);
      if (cursor.startsWith(prefix) && positions.test(position)) return position;
      throw new ConsoleError('CONSOLE_REQUEST_INVALID', 'invalid cursor', {
        problems: [
          {
            field: 'cursor',
            reason: 'invalid',
            detail: 'Not one that an earlier page of this list gave. Read the list from its beginning.',
          },
        ],
      });
    },
  };
}

/**
 * The same for a list whose pages may end at a row that the caller may not see: the time of mail for somebody
 * else is already information.
 */
export function sealCursors(cursors: Cursors, vault: Vault, organizationId: string): Cursors {
  const context = `console-cursor:${organizationId}`;
  return {
    write(position) {
      const text = cursors.write(position);
      return text === null
        ? null
        : Buffer.from(vault.encrypt(Buffer.from(text), context)).toString('base64url');
    },
    read(cursor) {
      if (cursor === undefined) return undefined;
      try {
        const text = vault.decrypt(Buffer.from(cursor, 'base64url'), context);
        return cursors.read(Buffer.from(text).toString());
      } catch {
        return cursors.read('');
      }
    },
  };
}

/** A time in milliseconds and an id that distinguishes rows of the same time. */
export const timeAndId = /^\d{1,15}~[\w-]{1,64}$/;
/** A number of a row. */
export const rowNumber = /^[1-9]\d{0,14}$/;
/** The id of a row. */
export const rowId = /^[\w-]{1,64}$/;
