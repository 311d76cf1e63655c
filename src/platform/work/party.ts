/**
 * Where the attempts of a party count. `working`: it answers in time. `slow`: it does not, or did not
 * recently, or was never asked.
 */
export type Lane = 'working' | 'slow';

export const lanes = ['working', 'slow'] as const;

export const perLane = <Value>(make: () => Value): Record<Lane, Value> => ({
  working: make(),
  slow: make(),
});

/**
 * Parties that share a limit, and take turns with other groups. A party without a group takes its turns
 * alone.
 */
export interface Group<Item> {
  readonly name: string | undefined;
  /** The one served longest ago first. */
  readonly parties: Set<Party<Item>>;
  /** Running attempts by lane. */
  readonly running: Record<Lane, number>;
  waiting: number;
}

/** One destination, peer or webhook, and its items in progress on this node. */
export interface Party<Item> {
  readonly name: string;
  readonly group: Group<Item>;
  /** Oldest first. */
  readonly waiting: Item[];
  /** Start times of running attempts, by item id. */
  readonly running: Map<string, number>;
  /** Memory of running attempts that still hold it, by item id. */
  readonly bytes: Map<string, number>;
  lane: Lane;
  /** Since it left the working lane. */
  hasAnswered: boolean;
  /** Time of its last slow or failing result. */
  slowAt: number;
  failures: number;
  /** How often it backed off since its last success. */
  backOffs: number;
  backOffUntil: number;
}

export function createParty<Item>(name: string, group: Group<Item>, lane: Lane): Party<Item> {
  return {
    name,
    group,
    waiting: [],
    running: new Map(),
    bytes: new Map(),
    lane,
    hasAnswered: false,
    slowAt: 0,
    failures: 0,
    backOffs: 0,
    backOffUntil: 0,
  };
}

export const isSlow = ({ lane }: Pick<Party<unknown>, 'lane'>): boolean => lane === 'slow';

export const isBackingOff = ({ backOffUntil }: Pick<Party<unknown>, 'backOffUntil'>, now: number): boolean =>
  backOffUntil > now;
