import type { FieldProblem } from '../../../core/index.ts';

/** One issue of an OperationOutcome. */
export interface OutcomeIssue {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly diagnostics: string;
  readonly expression?: readonly string[];
}

export interface OperationOutcome {
  readonly resourceType: 'OperationOutcome';
  readonly issue: readonly OutcomeIssue[];
}

export function warn(problems: readonly FieldProblem[]): OperationOutcome {
  return {
    resourceType: 'OperationOutcome',
    issue: problems.map(({ field, reason, detail }) => ({
      severity: 'warning',
      code: reason === 'unknown' ? 'not-supported' : 'informational',
      diagnostics: `${field}: ${detail}`,
    })),
  };
}
