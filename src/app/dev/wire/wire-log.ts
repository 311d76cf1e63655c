/** Who takes part in the sandbox, as the playground names them. */
export type WireParty = 'this HISP' | 'DNS' | 'partner HISP' | 'silent HISP';

/** One DNS question with its answer, or one line of SMTP. No content of a message. */
export interface WireLine {
  readonly atMs: number;
  readonly kind: 'dns' | 'smtp';
  readonly from: WireParty;
  readonly to: WireParty;
  readonly text: string;
  readonly isRefusal: boolean;
  /** The name asked for; empty for SMTP. */
  readonly name: string;
  /** Of SMTP: what the line belongs to; the envelope is filled in while the transaction continues. */
  readonly transaction: WireTransaction | undefined;
}

/** One mail transaction. The lines before the first of a connection belong to that first one. */
export interface WireTransaction {
  mailFrom: string;
  readonly recipients: string[];
}

/** What was seen on the wire lately, oldest first. */
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
