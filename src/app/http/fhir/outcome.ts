import type { FieldProblem } from '../../../core/index.ts';

export const fhirPath = '/fhir';
export const fhirMediaType = 'application/fhir+json; charset=utf-8';

export function isFhirPath(url: string): boolean {
  return /^\/fhir(?:[/?]|$)/.test(url);
}

/** FHIR R4: IssueType, by status. */
const issueCodes: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'login',
  403: 'forbidden',
  404: 'not-found',
  405: 'not-supported',
  406: 'not-supported',
  409: 'conflict',
  413: 'too-long',
  415: 'not-supported',
  422: 'processing',
  429: 'throttled',
  503: 'transient',
};

/** The public part of a refusal, for FHIR clients. */
export function buildOutcome(status: number, problems: readonly FieldProblem[]): object {
  return {
    resourceType: 'OperationOutcome',
    issue: problems.map(({ field, reason, detail }) => ({
      severity: 'error',
      code: reason === 'unknown' ? 'not-supported' : (issueCodes[status] ?? 'exception'),
      details: { text: reason },
      diagnostics: field === '' ? detail : `${field}: ${detail}`,
    })),
  };
}
