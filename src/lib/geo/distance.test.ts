import assert from 'node:assert/strict';
import { test } from 'node:test';
import { distanceMiles, earthRadiusMiles, haversineMiles, roundUpMiles } from './index.ts';

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
}

test('known great-circle distances', () => {
  const degree = (earthRadiusMiles * Math.PI) / 180;
  near(distanceMiles({ latitude: 0, longitude: 0 }, { latitude: 1, longitude: 0 }), degree, 1e-9);
  near(distanceMiles({ latitude: 0, longitude: 0 }, { latitude: 0, longitude: 180 }), 180 * degree, 1e-6);
  near(distanceMiles({ latitude: 90, longitude: 12 }, { latitude: -90, longitude: 50 }), 180 * degree, 1e-6);
  near(
    distanceMiles({ latitude: 40.7128, longitude: -74.006 }, { latitude: 34.0522, longitude: -118.2437 }),
    2445.6,
    0.5,
  );
  assert.equal(distanceMiles({ latitude: 30.1, longitude: -97.2 }, { latitude: 30.1, longitude: -97.2 }), 0);
});

test('the antimeridian is no obstacle', () => {
  const west = { latitude: 51.9, longitude: -179.5 };
  const east = { latitude: 51.9, longitude: 179.5 };
  near(distanceMiles(west, east), 42.6, 0.2);
  assert.equal(distanceMiles(west, east), haversineMiles(51.9, -179.5, 51.9, 179.5));
});

test('DIR-07: a distance is shown rounded up to two decimals, but floating-point noise is no reason', () => {
  assert.equal(roundUpMiles(12.3), 12.3);
  assert.equal(roundUpMiles(12.300000000000001), 12.3);
  assert.equal(roundUpMiles(12.3001), 12.31);
  assert.equal(roundUpMiles(12.301), 12.31);
  assert.equal(roundUpMiles(12.309999), 12.31);
  assert.equal(roundUpMiles(0), 0);
  assert.equal(Object.is(roundUpMiles(0), 0), true);
  assert.equal(roundUpMiles(0.0000000001), 0);
  assert.equal(roundUpMiles(0.001), 0.01);
  assert.equal(roundUpMiles(1000), 1000);
  for (let hundredths = 0; hundredths < 100_000; hundredths += 7) {
    assert.equal(roundUpMiles(hundredths / 100), hundredths / 100);
  }
});
