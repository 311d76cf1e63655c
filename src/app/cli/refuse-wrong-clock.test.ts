import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock, systemClock } from '../../core/index.ts';
import { refuseWrongClock } from './refuse-wrong-clock.ts';

test('a clock that was never set is refused; that of this machine is not', () => {
  refuseWrongClock(systemClock);
  for (const at of ['1970-01-01T00:00:12Z', '2019-12-31T00:00:00Z'])
    assert.throws(() => refuseWrongClock(createManualClock(new Date(at))), {
      code: 'PLATFORM_CONFIG_INVALID',
      message: new RegExp(`clock shows ${at.slice(0, 10)}`),
    });
});
