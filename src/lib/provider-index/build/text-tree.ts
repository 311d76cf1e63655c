/** Texts by their bytes from the first on: a node for each beginning of one. */
export interface TextTree {
  /** At `node << 8 | byte` the node that is one byte longer, 0 if there is none. Node 0 is the empty text. */
  readonly children: Uint32Array;
  readonly nodeCount: number;
  /** The node of each text. */
  readonly nodes: readonly number[];
}

export function createTextTree(texts: readonly Uint8Array[]): TextTree {
  let children = new Uint32Array(256 << 8);
  let nodeCount = 1;
  const nodes = texts.map((text) => {
    let node = 0;
    for (const byte of text) {
      const place = (node << 8) | byte;
      if (children[place] === 0) {
        if (nodeCount << 8 === children.length) {
          const larger = new Uint32Array(children.length * 2);
          larger.set(children);
          children = larger;
        }
        children[place] = nodeCount++;
      }
      node = children[place] as number;
    }
    return node;
  });
  return { children, nodeCount, nodes };
}
