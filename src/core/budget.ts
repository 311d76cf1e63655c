/** Why a budget refuses. `caller`: this caller holds its share; `total`: nothing is left for anybody. */
export type BudgetRefusal = 'caller' | 'total';

/** What one caller holds of a budget until it is released. */
export interface Reservation {
  readonly amount: number;
  /** Takes more, or nothing and says why. */
  grow(amount: number): BudgetRefusal | undefined;
  /** Gives everything back. Releasing twice is harmless. */
  release(): void;
}

/** So much of something (bytes, slots) for all callers together, and so much for one of them. */
export interface Budget {
  /**
   * Takes the amount, or nothing and says why. Whoever comes first is always served, however much is asked for: a
   * budget below the size of one request must not refuse it for ever.
   */
  reserve(caller: string, amount: number): Reservation | BudgetRefusal;
  readonly used: number;
  readonly total: number;
}

export interface BudgetLimits {
  readonly total: number;
  /** By default no less than the total. */
  readonly perCaller?: number;
}

export function createBudget({ total, perCaller = total }: BudgetLimits): Budget {
  const held = new Map<string, number>();
  let used = 0;

  function take(caller: string, amount: number): BudgetRefusal | undefined {
    const own = held.get(caller) ?? 0;
    if (own > 0 && own + amount > perCaller) return 'caller';
    if (used > 0 && used + amount > total) return 'total';
    used += amount;
    held.set(caller, own + amount);
    return undefined;
  }

  function give(caller: string, amount: number): void {
    used -= amount;
    const own = (held.get(caller) ?? 0) - amount;
    if (own > 0) held.set(caller, own);
    else held.delete(caller);
  }

  return {
    total,
    get used() {
      return used;
    },
    reserve(caller, first) {
      const refusal = take(caller, first);
      if (refusal !== undefined) return refusal;
      let amount = first;
      return {
        get amount() {
          return amount;
        },
        grow(more) {
          // Only what is held next to this reservation may stand in its way.
          give(caller, amount);
          const whole = amount + more;
          const reason = take(caller, whole);
          if (reason === undefined) amount = whole;
          else take(caller, amount);
          return reason;
        },
        release() {
          if (amount > 0) give(caller, amount);
          amount = 0;
        },
      };
    },
  };
}
