import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { deliveryModes, outcomeOf, recipientEvents, recipientStates } from './states.ts';

const file = path.resolve(import.meta.dirname, '../../../../docs/message-lifecycle.md');

/** The diagram of the document, drawn from the table: one arrow for each change of state. */
function drawDiagram(): string {
  const arrows = new Map<string, string[]>();
  for (const mode of deliveryModes)
    for (const state of recipientStates)
      for (const event of recipientEvents) {
        const outcome = outcomeOf(state, mode, event);
        if (outcome === 'same' || outcome === 'noted' || outcome === 'impossible') continue;
        const arrow = `${state} --> ${outcome}`;
        const both = deliveryModes.every((other) => outcomeOf(state, other, event) === outcome);
        const label = both ? event : `${event} (${mode})`;
        const labels = arrows.get(arrow) ?? [];
        if (!labels.includes(label)) arrows.set(arrow, [...labels, label]);
      }
  return [
    '```mermaid',
    'stateDiagram-v2',
    '  [*] --> queued',
    ...[...arrows].map(([arrow, labels]) => `  ${arrow}: ${labels.join(', ')}`),
    '```',
  ].join('\n');
}

describe('docs/message-lifecycle.md', () => {
  it('shows the lifecycle as the table has it', () => {
    const expected = drawDiagram();
    assert.ok(readFileSync(file, 'utf8').includes(expected), `The diagram must be:\n${expected}`);
  });
});
