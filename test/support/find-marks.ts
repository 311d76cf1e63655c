/** Finds a word in bytes, in every form that a service may write it in. */

/** As it is, in lower and upper case, in UTF-16, in hexadecimal, and in base64 at each of the three places of a group. */
export function formsOf(word: string): ReadonlyMap<string, Buffer> {
  const bytes = Buffer.from(word, 'latin1');
  const forms = new Map<string, Buffer>([
    ['as it is', bytes],
    ['in lower case', Buffer.from(word.toLowerCase(), 'latin1')],
    ['in upper case', Buffer.from(word.toUpperCase(), 'latin1')],
    ['in UTF-16', Buffer.from(word, 'utf16le')],
    ['in hexadecimal', Buffer.from(bytes.toString('hex'))],
  ]);
  for (const shift of [0, 1, 2]) {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    // Without the characters that depend on the neighbors.
    const inner = text.slice(Math.ceil((shift * 4) / 3), Math.floor(((shift + bytes.length) * 4) / 3));
    forms.set(`in base64 after ${shift} bytes`, Buffer.from(inner));
  }
  return forms;
}

/** The first place of each form that is there, with what stands around it. */
export function findMarks(bytes: Buffer, word: string): readonly string[] {
  const found = [...formsOf(word)].flatMap(([form, pattern]) => {
    const at = bytes.indexOf(pattern);
    if (at < 0) return [];
    const around = bytes.subarray(Math.max(0, at - 100), at + pattern.length + 60).toString('latin1');
    return [{ at, text: `${form}: …${around.replaceAll(/[^\x20-\x7e]/g, '.')}…` }];
  });
  // A word without letters is the same in both cases.
  return [...new Map(found.map(({ at, text }) => [at, text])).values()];
}
