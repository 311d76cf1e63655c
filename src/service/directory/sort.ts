import type { SearchField } from '../../lib/provider-record/index.ts';
import type { FieldProblem } from '../../core/index.ts';
import type { ProviderQuery } from '../../lib/provider-index/index.ts';
import { directoryParameters, type DirectoryParameter, type SuppliedParameters } from './parameters.ts';

type SortKey = ProviderQuery['sort'][number];

const sortable = new Map<string, DirectoryParameter>(
  directoryParameters
    .filter((parameter) => parameter.isSortable)
    .map((parameter) => [parameter.name, parameter]),
);

const orders: Readonly<Record<string, boolean>> = { ascending: false, descending: true };

/**
 * Sort keys of a query (Directory spec: Sort rules; Decision 0003). Without sort_by a query with a radius is
 * ordered nearest first under every sort_order, and any other by NPI. The index breaks the last tie by `id`,
 * ascending.
 */
export function parseSort(supplied: SuppliedParameters, problems: FieldProblem[]): SortKey[] {
  const hasRadius = supplied.has('radius');
  const names = listOf(supplied.get('sort_by') ?? (hasRadius ? 'radius' : 'prov_npi'));
  const directions = listOf(supplied.get('sort_order') ?? 'ascending');
  const found = [
    findNameProblem(names, hasRadius),
    findOrderProblem(directions, supplied.has('sort_by') ? names.length : 1),
  ].filter((problem) => problem !== undefined);
  if (found.length > 0) {
    problems.push(...found);
    return [];
  }
  if (hasRadius && !supplied.has('sort_by')) return [{ field: 'distance', isDescending: false }];
  return names.map((name, index) => ({
    field: fieldOf(name),
    isDescending: orders[directions[directions.length === 1 ? 0 : index] ?? ''] ?? false,
  }));
}

function listOf(text: string): string[] {
  return text.split(',').map((part) => part.trim());
}

function findNameProblem(names: readonly string[], hasRadius: boolean): FieldProblem | undefined {
  const field = 'sort_by';
  if (!names.every((name) => sortable.has(name))) {
    return { field, reason: 'invalid', detail: `Allowed are ${[...sortable.keys()].join(', ')}.` };
  }
  if (new Set(names).size < names.length) {
    return { field, reason: 'repeated', detail: 'A parameter may appear once in sort_by.' };
  }
  if (names.includes('radius') && !hasRadius) {
    return { field, reason: 'radius_missing', detail: 'Sorting by radius needs the radius parameter.' };
  }
  return undefined;
}

function findOrderProblem(directions: readonly string[], nameCount: number): FieldProblem | undefined {
  const field = 'sort_order';
  if (!directions.every((direction) => Object.hasOwn(orders, direction))) {
    return { field, reason: 'invalid', detail: 'Allowed are ascending and descending.' };
  }
  if (directions.length !== 1 && directions.length !== nameCount) {
    return { field, reason: 'invalid', detail: 'One order, or as many as sort_by has parameters.' };
  }
  return undefined;
}

function fieldOf(name: string): SearchField | 'distance' {
  const parameter = sortable.get(name);
  return parameter?.kind === 'filter' ? parameter.field : 'distance';
}
