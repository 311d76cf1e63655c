/** Why a budget refuses. `caller`: this caller holds its share; `total`: nothing is left for anybody. */
export type BudgetRefusal = 'caller' | 'total';

/** A reservation of one caller in a budget until it is released. */
export interface Reservation {
  readonly amount: number;
  /** Takes more, or nothing and says why. */
  grow(amount: number): BudgetRefusal | undefined;
  /** Gives everything back. Releasing twice is harmless. */
  release(): void;
}

/** An amount (bytes, slots) that all callers share, with a limit for each caller. */
export interface Budget {
  /**
   * Reserves the amount, or nothing and returns the reason. A caller's first reservation may exceed the
   * caller's limit, and the first of all may exceed the total: a budget smaller than one request must not
   * refuse it forever.
   */
  reserve(caller: string, amount: number): Reservation | BudgetRefusal;
  readonly used: number;
  readonly total: number;
}

export interface BudgetLimits {
  readonly total: number;
  /** By default no less than the total. */
  readonly perCaller?: number;
  /**
   * When nothing is left, reservations up to this still have an eighth of the total for themselves: who holds
   * large ones for long keeps out no ordinary ones.
   */
  readonly smallAmount?: number;
  /** Told of each refusal. */
  readonly onRefused?: (reason: BudgetRefusal) => void;
}

export function createBudget({ total, perCaller = total, smallAmount = 0, onRefused }: BudgetLimits): Budget {
  const held = new Map<string, number>();
  let used = 0;
  let smallUsed = 0;

  function findRefusal(caller: string, amount: number): BudgetRefusal | undefined {
    const own = held.get(caller) ?? 0;
    if (own > 0 && own + amount > perCaller) return 'caller';
    const mayExceed = amount <= smallAmount && smallUsed + amount <= total / 8;
    return used > 0 && used + amount > total && !mayExceed ? 'total' : undefined;
  }

  function refusalOf(caller: string, amount: number): BudgetRefusal | undefined {
    const refusal = findRefusal(caller, amount);
    if (refusal !== undefined) onRefused?.(refusal);
    return refusal;
  }

  function take(caller: string, amount: number): void {
    used += amount;
    if (amount <= smallAmount) smallUsed += amount;
    held.set(caller, (held.get(caller) ?? 0) + amount);
  }

  function give(caller: string, amount: number): void {
    used -= amount;
    if (amount <= smallAmount) smallUsed -= amount;
    const own = (held.get(caller) ?? 0) - amount;
    if (own > 0) held.set(caller, own);
    else held.delete(caller);
  }

  const account = { refusalOf, take, give };
  return {
    total,
    get used() {
      return used;
    },
    reserve(caller, amount) {
      const refusal = refusalOf(caller, amount);
      if (refusal !== undefined) return refusal;
      take(caller, amount);
      return new HeldAmount(caller, amount, account);
    },
  };
}

interface Account {
  refusalOf(caller: string, amount: number): BudgetRefusal | undefined;
  take(caller: string, amount: number): void;
  give(caller: string, amount: number): void;
}

// A class, because an object with an accessor is dear to make, and each message makes several.
class HeldAmount implements Reservation {
  readonly #caller: string;
  readonly #account: Account;
  amount: number;

  constructor(caller: string, amount: number, account: Account) {
    this.#caller = caller;
    this.#account = account;
    this.amount = amount;
  }

  grow(more: number): BudgetRefusal | undefined {
    // The reservation is given back first, so that only the other reservations can block its larger size.
    this.#account.give(this.#caller, this.amount);
    const whole = this.amount + more;
    const reason = this.#account.refusalOf(this.#caller, whole);
    if (reason === undefined) this.amount = whole;
    this.#account.take(this.#caller, this.amount);
    return reason;
  }

  release(): void {
    if (this.amount > 0) this.#account.give(this.#caller, this.amount);
    this.amount = 0;
  }
}
