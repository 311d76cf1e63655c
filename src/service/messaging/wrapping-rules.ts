/** Settings by the sender's domain. */
export interface WrappingRules {
  /** Domains of which unwrapped messages are refused. */
  readonly required: ReadonlySet<string>;
  /** Domains of which they are accepted, although others of them were wrapped. */
  readonly optional: ReadonlySet<string>;
}

export const noWrappingRules: WrappingRules = { required: new Set(), optional: new Set() };
