import { createHash } from 'node:crypto';

/** Names given to statements, per storage: each connection keeps its own prepared copy of each. */
const maxNames = 500;
/** Longer statements differ with every list of values in them. */
const maxNamedLength = 10_000;

/**
 * Gives the statements that come again a name, so that the server parses and plans them once for each
 * connection. A statement is named at its second use. Those that differ each time (lists of values) stay
 * unnamed once all names are given away.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #seenOnce = new Set<string>();

  nameOf(sql: string): string | undefined {
    const name = this.#names.get(sql);
    if (name !== undefined) return name;
    if (sql.length > maxNamedLength || this.#names.size >= maxNames) return undefined;
    if (!this.#seenOnce.delete(sql)) {
      if (this.#seenOnce.size >= maxNames) this.#seenOnce.clear();
      this.#seenOnce.add(sql);
      return undefined;
    }
    const given = `s_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`;
    this.#names.set(sql, given);
    return given;
  }
}
