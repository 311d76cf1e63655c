import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fc } from '../../../../test/support/fast-check.ts';
import { MessagingError } from '../errors.ts';
import {
  applyEvent,
  deadlineOf,
  deliveryModes,
  isFinal,
  outcomeOf,
  recipientEvents,
  recipientStates,
  type DeliveryMode,
  type RecipientEvent,
  type RecipientState,
} from './states.ts';

/** The lifecycle once more, written as the decision reads: state, mode, then what each event leads to. */
const expected = `
                          sent  refused processed  dispatched  failure-reported window-closed
queued     general        sent  failed  processed  processed   failed           impossible
queued     final-delivery sent  failed  processed  noted       failed           impossible
sent       general        same  same    processed  processed   failed           expired
sent       final-delivery same  same    processed  noted       failed           expired
processed  general        same  same    same       same        same             same
processed  final-delivery same  same    same       dispatched  failed           expired
dispatched general        same  same    same       same        same             same
dispatched final-delivery same  same    same       same        same             same
failed     general        same  same    same       same        same             same
failed     final-delivery same  same    same       same        same             same
expired    general        same  same    same       same        same             same
expired    final-delivery same  same    same       same        same             same
`;

const [header = [], ...rows] = expected
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/));

const after = (
  state: RecipientState,
  mode: DeliveryMode,
  events: readonly RecipientEvent[],
): RecipientState =>
  events.reduce((snapshot, event) => ({ ...applyEvent(snapshot, event), mode }), {
    state,
    mode,
    hasDispatchedMdn: false as boolean,
  }).state;

describe('Decision 0012: the lifecycle of a recipient', () => {
  it('is written here for every state in every mode', () => {
    assert.equal(rows.length, recipientStates.length * deliveryModes.length);
  });

  for (const [state, mode, ...outcomes] of rows) {
    it(`${state} (${mode})`, () => {
      for (const [index, event] of recipientEvents.entries()) {
        assert.equal(header[index], event);
        assert.equal(outcomeOf(state as RecipientState, mode as DeliveryMode, event), outcomes[index], event);
      }
    });
  }

  it('applies every pair of the table without side effects', () => {
    for (const [state, mode, ...outcomes] of rows)
      for (const [index, event] of recipientEvents.entries()) {
        const snapshot = Object.freeze({
          state: state as RecipientState,
          mode: mode as DeliveryMode,
          hasDispatchedMdn: false,
        });
        const outcome = outcomes[index];
        if (outcome === 'impossible') {
          assert.throws(
            () => applyEvent(snapshot, event),
            (error) => error instanceof MessagingError && error.code === 'MESSAGING_TRANSITION_IMPOSSIBLE',
          );
          continue;
        }
        const stays = outcome === 'same' || outcome === 'noted';
        assert.deepEqual(applyEvent(snapshot, event), {
          state: stays ? state : outcome,
          isChanged: !stays,
          hasDispatchedMdn: outcome === 'noted',
        });
      }
  });

  it('a final state never changes, for any event', () => {
    for (const state of recipientStates)
      for (const mode of deliveryModes)
        if (isFinal(state, mode))
          for (const event of recipientEvents) assert.equal(after(state, mode, [event]), state);
    const finals = (mode: DeliveryMode) => recipientStates.filter((state) => isFinal(state, mode));
    assert.deepEqual(finals('general'), ['processed', 'dispatched', 'failed', 'expired']);
    assert.deepEqual(finals('final-delivery'), ['dispatched', 'failed', 'expired']);
  });

  it('MDN-24: with final delivery asked for, processed and dispatched complete in either order', () => {
    assert.equal(after('sent', 'final-delivery', ['processed', 'dispatched']), 'dispatched');
    assert.equal(after('sent', 'final-delivery', ['dispatched', 'processed']), 'dispatched');
    assert.equal(after('sent', 'final-delivery', ['dispatched']), 'sent');
    assert.equal(after('queued', 'final-delivery', ['dispatched', 'sent', 'processed']), 'dispatched');
    assert.equal(after('sent', 'final-delivery', ['dispatched', 'window-closed']), 'expired');
  });

  it('MDN-24: without, the first of processed, dispatched or failure decides', () => {
    assert.equal(after('sent', 'general', ['dispatched', 'processed']), 'processed');
    assert.equal(after('sent', 'general', ['processed', 'failure-reported']), 'processed');
    assert.equal(after('sent', 'general', ['failure-reported', 'processed']), 'failed');
  });

  it('MDN-26: exactly one terminal state for all events in every order', () => {
    const possible = recipientEvents.filter((event) => event !== 'window-closed');
    fc.assert(
      fc.property(
        fc.constantFrom(...deliveryModes),
        fc.array(fc.constantFrom(...possible), { maxLength: 20 }),
        (mode, events) => {
          let snapshot = { state: 'queued' as RecipientState, mode, hasDispatchedMdn: false };
          const reached: RecipientState[] = [];
          for (const event of events) {
            const applied = applyEvent(snapshot, event);
            if (applied.isChanged && isFinal(applied.state, mode)) reached.push(applied.state);
            snapshot = { ...applied, mode };
          }
          assert.ok(reached.length <= 1, reached.join(', '));
          assert.equal(isFinal(snapshot.state, mode), reached.length === 1);
        },
      ),
    );
  });

  it('an MDN may overtake the SMTP reply', () => {
    assert.equal(after('queued', 'general', ['processed', 'sent']), 'processed');
    assert.equal(after('queued', 'general', ['processed', 'refused']), 'processed');
  });
});

describe('MDN-25: windows', () => {
  const windows = { processedWindowMinutes: 1, dispatchedWindowMinutes: 0.5 };
  it('begin with sent, and with processed where final delivery was asked for', () => {
    assert.equal(deadlineOf('sent', 'general', 10, windows), 60_010);
    assert.equal(deadlineOf('sent', 'final-delivery', 10, windows), 60_010);
    assert.equal(deadlineOf('processed', 'final-delivery', 10, windows), 30_010);
  });
  it('nothing is awaited in a final state or before the message is sent', () => {
    assert.equal(deadlineOf('processed', 'general', 10, windows), null);
    for (const state of ['queued', 'dispatched', 'failed', 'expired'] as const)
      assert.equal(deadlineOf(state, 'final-delivery', 10, windows), null);
  });
});
