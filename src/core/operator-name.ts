/** The name of an actor of the audit trail who is an operator; undefined for others. */
export function operatorName(actor: string): string | undefined {
  return /^operator:(.*)$/s.exec(actor)?.[1];
}
