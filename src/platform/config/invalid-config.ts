import type { FieldProblem } from '../../core/index.ts';
import { PlatformError } from '../errors.ts';

/** The error that lists all problems of the configuration, one line per problem. */
export function invalidConfig(problems: readonly FieldProblem[]): PlatformError {
  const lines = problems.map((problem) => `  ${problem.detail}`).join('\n');
  return new PlatformError('PLATFORM_CONFIG_INVALID', `The configuration is not valid:\n${lines}`, {
    problems,
  });
}
