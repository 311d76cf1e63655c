import type { ChangeContext } from './change-times.ts';
import type { FilterContext } from './filter-context.ts';
import type { OrderContext } from './order/row-key.ts';

export type IndexContext = FilterContext & OrderContext & ChangeContext;
