/**
 * Shared basics for every other module: coded errors, ports to time and randomness, token buckets, bytes and
 * text. Imports nothing of the project.
 */
export {
  CodedError,
  codedError,
  errorCode,
  errorText,
  failureOutcome,
  type ErrorKind,
  type ErrorOptionsFor,
  type ErrorSpec,
  type ErrorTable,
  type FieldProblem,
} from './errors.ts';
export { fileErrorText, findFileFault } from './file-faults.ts';
export { loginName } from './login-name.ts';
export {
  createManualClock,
  silentLog,
  systemClock,
  type Clock,
  type Closable,
  type Log,
  type ManualClock,
  type RandomSource,
} from './ports.ts';
export {
  createBudget,
  type Budget,
  type BudgetLimits,
  type BudgetRefusal,
  type Reservation,
} from './budget.ts';
export { networkOf } from './address-network.ts';
export {
  createConnectionShares,
  createConnectionTable,
  type ConnectionRefusal,
  type ConnectionShares,
  type ConnectionSharesOptions,
  type ConnectionTable,
  type TableConnection,
} from './connection-shares.ts';
export type { Evictable } from './evict-connection.ts';
export { escapeHidden, hasHidden, oneLine, quoteForShell } from './shown-text.ts';
export { readInstant } from './instants.ts';
export { createLineLimit, type LineLimit } from './line-limit.ts';
export { packageRoot } from './package-root.ts';
export { isNoSocketCode, isShortageCode } from './system-errors.ts';
export { collectGarbage } from './collect-garbage.ts';
export { createByteCollector, type ByteCollector } from './byte-collector.ts';
export { toCsvLine } from './csv.ts';
export { operatorName } from './operator-name.ts';
export { createRateWatch, type RateWatch, type RateWatchOptions } from './rate-watch.ts';
export {
  concatBytes,
  decodeBase64Bytes,
  decodeBase64Strict,
  equalBytes,
  equalSecrets,
  toHex,
  viewAsBuffer,
} from './bytes.ts';
export { createHmacSha256 } from './hmac.ts';
export {
  createTokenBuckets,
  type BucketOptions,
  type RateLimitResult,
  type TokenBuckets,
} from './token-buckets.ts';
export { hashInSlices, sliceBytes, slicesOf, sortInSlices } from './slices.ts';
export { createGrowingCache } from './lru.ts';
export { createTimedUuid } from './timed-uuid.ts';
export { createTurns } from './turns.ts';
export {
  countOf,
  foldText,
  hasLineBreaker,
  hasOnlyMarks,
  isLongerThan,
  readDecimal,
  readTexts,
  toPlainSigns,
  trimBlanks,
} from './text.ts';
export {
  describeBadJson,
  findJsonFault,
  findStringEnd,
  readJsonList,
  readJsonObject,
  type JsonLimits,
} from './json.ts';
