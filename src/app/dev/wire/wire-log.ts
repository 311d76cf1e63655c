/**
 * Proxies of the sandbox that show the playground what goes over the wire in DNS and SMTP.
 * Used by `app/dev` and nothing of a real installation.
 * Begin with this log, which `tap-dns.ts` and `tap-smtp.ts` write.
 */

/** The hosts of the sandbox, as named in the playground. */
export type WireHost = 'this HISP' | 'DNS' | 'partner HISP' | 'silent HISP';

/** One DNS query with its answer, or one line of SMTP. No message content. */
export interface WireLine {
  readonly atMs: number;
  readonly kind: 'dns' | 'smtp';
  readonly from: WireHost;
  readonly to: WireHost;
  readonly text: string;
  readonly isRefusal: boolean;
  /** The queried name; empty for SMTP. */
  readonly name: string;
  /** The SMTP transaction of the line; its envelope is filled in while the transaction continues. */
  readonly transaction: WireTransaction | undefined;
}

/** One mail transaction. Lines before the first transaction of a connection belong to that transaction. */
export interface WireTransaction {
  mailFrom: string;
  readonly recipients: string[];
}

/** Recent lines on the wire, oldest first. */
export interface WireLog {
  add(line: WireLine): void;
  /** Lines of DNS and SMTP since a time. */
  since(atMs: number): readonly WireLine[];
}

const maxLines = 5000;

export function createWireLog(): WireLog {
  const lines: WireLine[] = [];
  return {
    add(line) {
      lines.push(line);
      if (lines.length > maxLines) lines.splice(0, lines.length - maxLines);
    },
    since: (atMs) => lines.filter((line) => line.atMs >= atMs),
  };
}
