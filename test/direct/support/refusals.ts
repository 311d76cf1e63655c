import assert from 'node:assert/strict';
import { CodedError } from '../../../src/core/index.ts';

/** Fails unless the work is refused with exactly that code. */
export async function refusedWith(code: string, work: () => unknown): Promise<CodedError> {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof CodedError, `not a refusal but ${String(error)}`);
    assert.equal(error.code, code, error.message);
    return error;
  }
  assert.fail(`accepted, though ${code} was expected`);
}
