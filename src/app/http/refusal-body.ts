import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FieldProblem } from '../../core/index.ts';
import { buildErrorEnvelope, jsonMediaType } from './envelope.ts';
import { buildOutcome, fhirMediaType, isFhirPath } from './fhir/outcome.ts';

/**
 * Sends a refusal in the form of the API that was asked: FHIR clients read an OperationOutcome, all others
 * the envelope.
 */
export function sendRefusalBody(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  problems: readonly FieldProblem[],
): FastifyReply {
  const isFhir = isFhirPath(request.url);
  return reply
    .code(status)
    .header('X-Request-Id', request.id)
    .type(isFhir ? fhirMediaType : jsonMediaType)
    .serializer((body: unknown) => JSON.stringify(body))
    .send(isFhir ? buildOutcome(status, problems) : buildErrorEnvelope(status, problems, request.id));
}
