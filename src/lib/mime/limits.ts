/** Limits on untrusted messages; beyond them a message is refused. */
export interface MimeLimits {
  /** Nested multiparts and messages; real mail stays under 8. */
  readonly maxDepth: number;
  /**
   * Bytes of bodies searched for delimiters, as a multiple of the source; deep trees around one big part cost
   * the most.
   */
  readonly maxPasses: number;
  /** Parts in the whole tree, the root included. */
  readonly maxParts: number;
  /** One entity's header section. */
  readonly maxHeaderBytes: number;
  /** One field, folded lines included. */
  readonly maxHeaderFieldBytes: number;
  /** Fields of one entity. */
  readonly maxHeaderFields: number;
  /** Fields of all entities of the tree: a thousand parts of a thousand fields in 4 MB would hold 250 MB. */
  readonly maxTreeFields: number;
}

/**
 * Wide enough for anything that mail servers let through (they cap header sections at about 256 kB), narrow
 * enough that a tree costs at most `maxPasses` passes over the bytes. Body lines have no limit: payloads with
 * lines of 59,000 characters are real.
 */
export const defaultMimeLimits: MimeLimits = {
  maxDepth: 24,
  maxPasses: 6,
  maxParts: 1000,
  maxHeaderBytes: 262_144,
  maxHeaderFieldBytes: 65_536,
  maxHeaderFields: 1000,
  maxTreeFields: 20_000,
};
