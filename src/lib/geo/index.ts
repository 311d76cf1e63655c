/**
 * United States ZIP codes, cities and distances in miles (Directory spec: Radius rules, Decision 0004,
 * DIR-07).
 *
 * Sources of the built-in gazetteer, their dates and their licenses: data/README.md. Coordinates are decimal
 * degrees (WGS 84); a city's center is a point, not an area. Does no geocoding of street addresses. Used by
 * service/directory for search centers, for missing coordinates and for quality checks of a load.
 */
export {
  createGazetteer,
  loadBuiltInGazetteer,
  loadBuiltInZip,
  type Gazetteer,
  type GeoPoint,
  type ZipPlace,
} from './gazetteer.ts';
export { placeWords } from './place-name.ts';
export { distanceMiles, haversineMiles, roundUpMiles, earthRadiusMiles } from './distance.ts';
export { GeoError, geoErrors } from './errors.ts';
