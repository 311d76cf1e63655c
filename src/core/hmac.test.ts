import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { fc } from '../../test/support/fast-check.ts';
import { createHmacSha256 } from './hmac.ts';

test('equals node:crypto for keys and values of any length', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.uint8Array({ maxLength: 300 }),
      fc.string(),
      (key, bytes, text) => {
        const expected = createHmac('sha256', key).update(bytes).update(text).digest('hex');
        assert.equal(createHmacSha256(key)(bytes, text).toString('hex'), expected);
      },
    ),
  );
});
