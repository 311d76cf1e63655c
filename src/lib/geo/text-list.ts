/**
 * Texts in one piece of memory, by number. Tens of thousands of strings that live as long as the process
 * would be visited by each garbage collection.
 */
export interface TextList {
  at(index: number): string;
}

export interface TextListBuilder {
  /** The number of a text; the same text has one number. */
  add(text: string): number;
  build(): TextList;
}

export function createTextListBuilder(): TextListBuilder {
  const numbers = new Map<string, number>();
  return {
    add(text) {
      const known = numbers.get(text);
      if (known !== undefined) return known;
      numbers.set(text, numbers.size);
      return numbers.size - 1;
    },
    build() {
      const ends = new Uint32Array(numbers.size);
      const bytes = Buffer.from([...numbers.keys()].join(''), 'utf8');
      let end = 0;
      for (const [text, index] of numbers) ends[index] = end += Buffer.byteLength(text, 'utf8');
      return { at: (index) => bytes.toString('utf8', ends[index - 1] ?? 0, ends[index] ?? 0) };
    },
  };
}
