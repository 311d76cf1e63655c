import type { FieldProblem } from '../../core/index.ts';
import type { ProviderQuery } from '../../lib/provider-index/index.ts';
import { DirectoryError } from './errors.ts';
import { maxRadiusMiles } from './limits.ts';
import type { WireName } from '../../lib/provider-record/index.ts';
import type { SuppliedParameters } from './parameters.ts';

export interface Point {
  readonly latitude: number;
  readonly longitude: number;
}

/** Finds search centers by ZIP code or by city and state; the gazetteer of lib/geo is one. */
export interface CenterFinder {
  findZip(zip5: string): Point | undefined;
  findCity(city: string, state: string): Point | undefined;
}

export interface RadiusPlan {
  /** The parameters that form the center; they stop filtering (Decision 0004). */
  readonly centerNames: readonly WireName[];
  /** Looks the center up. Throws DIRECTORY_CENTER_NOT_FOUND. */
  find(): NonNullable<ProviderQuery['radius']>;
}

const zipForm = /^[0-9]{5}(?:-[0-9]{4})?$/;

/**
 * The search area of a query with `radius` (Directory spec: Radius rules; Decision 0004): around org_zip if
 * given, else around org_city with org_state. Undefined without radius or after a problem, which is added to
 * `problems`.
 */
export function resolveRadius(
  supplied: SuppliedParameters,
  centers: CenterFinder,
  problems: FieldProblem[],
): RadiusPlan | undefined {
  const text = supplied.get('radius');
  if (text === undefined) return undefined;
  const miles = parseMiles(text, problems);
  const center = findCenter(supplied, centers, problems);
  if (miles === undefined || center === undefined) return undefined;
  return {
    centerNames: center.names,
    find: () => ({ ...(center.find() ?? failToFind(center.names)), miles }),
  };
}

/**
 * The place of org_zip, or of org_city with org_state, where nothing is looked for in a radius; undefined
 * without them or after a problem. Throws DIRECTORY_CENTER_NOT_FOUND when it is called.
 */
export function findPlace(
  supplied: SuppliedParameters,
  centers: CenterFinder,
  problems: FieldProblem[],
): (() => Point) | undefined {
  if (!['org_zip', 'org_city', 'org_state'].some((name) => supplied.has(name))) return undefined;
  const center = findCenter(supplied, centers, problems, 'A place');
  return center && (() => center.find() ?? failToFind(center.names));
}

function parseMiles(text: string, problems: FieldProblem[]): number | undefined {
  if (text === '') return maxRadiusMiles;
  const miles = Number(text);
  if (/^[0-9]+$/.test(text) && miles > 0) return Math.min(miles, maxRadiusMiles);
  problems.push({
    field: 'radius',
    reason: 'invalid',
    detail: 'radius is a positive number of whole miles.',
  });
  return undefined;
}

interface Center {
  readonly names: readonly WireName[];
  find(): Point | undefined;
}

function findCenter(
  supplied: SuppliedParameters,
  centers: CenterFinder,
  problems: FieldProblem[],
  what = 'radius',
): Center | undefined {
  const zip = supplied.get('org_zip');
  const city = supplied.get('org_city');
  const state = supplied.get('org_state');
  if (zip !== undefined) {
    if (zipForm.test(zip)) return { names: ['org_zip'], find: () => centers.findZip(zip.slice(0, 5)) };
    problems.push({
      field: 'org_zip',
      reason: 'invalid',
      detail: 'As a center a ZIP code is ##### or #####-####.',
    });
  } else if (city !== undefined && state !== undefined) {
    return { names: ['org_city', 'org_state'], find: () => centers.findCity(city, state) };
  } else {
    problems.push(missingCenter(city, state, what));
  }
  return undefined;
}

function missingCenter(city: string | undefined, state: string | undefined, what: string): FieldProblem {
  const detail = `${what} needs a center: org_zip, or org_city together with org_state.`;
  if (city !== undefined) return { field: 'org_state', reason: 'required', detail };
  if (state !== undefined) return { field: 'org_city', reason: 'required', detail };
  return { field: 'radius', reason: 'center_missing', detail };
}

/** Never an empty page, which would read as "nobody is there" (Decision 0004). */
function failToFind(names: readonly WireName[]): never {
  throw new DirectoryError(
    'DIRECTORY_CENTER_NOT_FOUND',
    `The center ${names.join(' and ')} is not in the gazetteer`,
    {
      problems: names.map((field) => ({
        field,
        reason: 'center_not_found',
        detail: 'The gazetteer has no such place.',
      })),
    },
  );
}
