import { operatorName } from '../../../core/index.ts';
import { addressKey, findDirectAddress } from '../../../lib/values/index.ts';
import { operatorOrganization } from '../../organizations/index.ts';
import type { MessagingDependencies, RequestOrigin } from '../ports.ts';
import { createProblems } from '../problems.ts';
import { acceptMessage, type SendAnswer } from './accept-message.ts';
import type { LimitSends } from './limit-sends.ts';
import { readMessage } from './send-message.ts';

/** A message by which an operator sees the whole way to an address. The names are those of the API. */
export interface TestMessage {
  /** An active hosted address. */
  readonly fromDirectAddress: string;
  /** One address, wherever it is. */
  readonly toDirectAddress: string;
  /** `urn:uuid:…`: with the same one, the same test is sent once. */
  readonly messageId?: string | undefined;
  readonly requestFinalDelivery?: boolean | undefined;
}

/** Ten at once, then one per minute: enough to find a fault, too few to annoy anybody. */
const limits = { sendsPerSecond: 1 / 60, sendsBurst: 10 };

/**
 * Sends a fixed text without patient data. The message belongs to the operator (`operator:NAME`), not to the
 * client of the sender's address, which did not send it and is told nothing (Decision 0030). Throws what
 * `sendMessage` throws, and MESSAGING_RATE_LIMITED.
 */
export async function sendTest(
  deps: MessagingDependencies & { readonly limitSends: LimitSends },
  actor: string,
  test: TestMessage,
  origin: RequestOrigin = {},
): Promise<SendAnswer> {
  const problems = createProblems();
  const from = findDirectAddress(test.fromDirectAddress);
  if (from === undefined)
    problems.add('fromDirectAddress', 'invalid', 'Not a Direct address (local@domain).');
  // Where clients name many addresses, a test has one.
  const to = findDirectAddress(test.toDirectAddress);
  if (to === undefined) problems.add('toDirectAddress', 'invalid', 'Not a Direct address (local@domain).');
  problems.refuseIfAny();
  const tester = {
    clientId: actor,
    organizationId: operatorOrganization,
    name: operatorName(actor) ?? actor,
    scopes: [],
    directAddresses: from === undefined ? [] : [addressKey(from)],
    requestFinalDelivery: false,
    limits,
  };
  const { hostname } = deps.identity;
  const subject = `Test message of the HISP ${hostname}, sent by ${tester.name}`;
  const body = {
    ...test,
    fromDirectAddress: from,
    toDirectAddress: to,
    messageSubject: subject.slice(0, deps.settings.maxSubjectCharacters),
    messageBody: [
      `This is a test of Direct messaging. ${tester.name}, an operator of the HISP ${hostname}, sent it to see whether messages reach ${to}.`,
      'It contains no patient data. Nobody needs to answer or to do anything.',
    ].join('\n\n'),
  };
  return acceptMessage(deps, tester, origin, async () => {
    const submission = await readMessage(deps, tester, body);
    return {
      ...submission,
      compose(at) {
        // Here it is known to be new: a repetition counts nothing.
        deps.limitSends(tester, () => {});
        return submission.compose(at);
      },
    };
  });
}
