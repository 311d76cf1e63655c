/** What ends on one node is refused by the other at once: sessions, tokens and roles of operators. */
// needsOwnProcess: the nodes of races end with the first file.
import assert from 'node:assert/strict';
import { systemClock } from '../../src/core/index.ts';
import { createOperators, type SignInSource } from '../../src/service/operators/index.ts';
import { raceTest } from './race.ts';

const source: SignInSource = { remoteAddress: '192.0.2.1', userAgent: 'test' };

raceTest({
  title: 'an operator whose access ended on one node has none on the other',
  usual: 1,
  async prepare(nodes) {
    const [one, two] = nodes.map((node) => createOperators({ ...node, clock: systemClock }));
    assert.ok(one !== undefined && two !== undefined);
    const { store, links, tokens, sessions } = one;
    async function signInAs(id: string, name: string): Promise<string> {
      const { token } = await links.create(id, name, 'sign-in');
      const answer = await two?.signIn.byLink(token, source);
      assert.ok(answer && 'session' in answer);
      return answer.session.token;
    }
    const find = (token: string) => two.sessions.find(token, { isActivity: false });
    const refused = async (token: string, how: string) => {
      // Asked before, so that whatever the other node keeps of it is there.
      await find(token);
      return {
        now: () => assert.rejects(find(token), { code: 'OPERATORS_SESSION_INVALID' }, how),
      };
    };
    return async (round) => {
      const name = `Ada ${round}`;
      const operator = await store.create(name, 'operator');
      const signIn = () => signInAs(operator.id, name);
      const bySelf = await signIn();
      const expected = await refused(bySelf, 'signed out');
      const { operator: identity, sessionId } = await find(bySelf);
      await sessions.end(identity, sessionId);
      await expected.now();

      const all = [await refused(await signIn(), 'everywhere'), await refused(await signIn(), 'everywhere')];
      await sessions.endAll(identity);
      for (const each of all) await each.now();

      const withRole = await signIn();
      assert.equal((await find(withRole)).operator.role, 'operator');
      await store.setRole(name, 'auditor');
      assert.equal((await find(withRole)).operator.role, 'auditor');

      const { token, entry } = await tokens.create(operator, { label: 'x', lifetimeMs: 60_000 });
      assert.equal((await two.tokens.find(token)).operator.role, 'auditor');
      await tokens.revoke(operator, entry.id);
      await assert.rejects(two.tokens.find(token), { code: 'OPERATORS_TOKEN_INVALID' });

      const last = await refused(withRole, 'disabled');
      const standing = await tokens.create(operator, { label: 'y', lifetimeMs: 60_000 });
      await two.tokens.find(standing.token);
      await store.disable(name);
      await last.now();
      await assert.rejects(two.tokens.find(standing.token), { code: 'OPERATORS_TOKEN_INVALID' });
    };
  },
});
