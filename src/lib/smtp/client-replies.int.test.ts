import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { createSmtpClient, type SmtpClient } from './client.ts';
import { SmtpError } from './errors.ts';
import type { SendOutcome } from './client.ts';

/** What the server does at a step: a code, or it hangs up. */
type Step = number | 'hangs up';

interface Script {
  readonly hasPipelining: boolean;
  readonly mail: Step;
  readonly recipients: readonly Step[];
  readonly data: Step;
  readonly message: Step;
  /** Replies are cut into pieces of this many octets. */
  readonly pieceOctets: number;
}

let script: Script;
/** Recipients that the server has taken a message for. */
let stored: string[] = [];
let client: SmtpClient;
let port: number;
const server = createServer((socket) => serve(socket));

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
  client = createSmtpClient({
    hostname: 'out.example.net',
    timeoutMs: 5_000,
    tls: { mode: 'never' },
  });
});

after(async () => {
  await client.close();
  server.close();
});

/** A server that follows the script, and to which a message is what stands between 354 and the dot. */
function serve(socket: Socket): void {
  let rest = '';
  let isData = false;
  let hasSender = false;
  let recipients: string[] = [];
  const say = (step: Step): void => {
    if (step === 'hangs up') return void socket.destroy();
    const text = `${step}-${step} first line\r\n${step} ${step} for this step\r\n`;
    for (let at = 0; at < text.length; at += script.pieceOctets)
      socket.write(text.slice(at, at + script.pieceOctets));
    if (step === 421) socket.end();
  };
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.write('220 mx\r\n');
  socket.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString('latin1')).split('\r\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (socket.destroyed || socket.writableEnded) return;
      if (isData) {
        if (line !== '.') continue;
        isData = false;
        if (isGood(script.message)) stored.push(...recipients.filter((address) => isGood(stepOf(address))));
        say(script.message);
        continue;
      }
      const word = line.slice(0, 4).toUpperCase();
      if (word === 'EHLO') socket.write(script.hasPipelining ? '250-mx\r\n250 PIPELINING\r\n' : '250 mx\r\n');
      else if (word === 'MAIL') {
        hasSender = isGood(script.mail);
        recipients = [];
        say(script.mail);
      } else if (word === 'RCPT') {
        const address = line.slice(9, -1);
        recipients.push(address);
        say(hasSender ? stepOf(address) : 503);
      } else if (word === 'DATA') {
        const hasRecipient = hasSender && recipients.some((address) => isGood(stepOf(address)));
        say(hasRecipient ? script.data : 503);
        isData = hasRecipient && script.data === 354;
      } else if (word === 'QUIT') socket.end('221 bye\r\n');
      else socket.write('250 ok\r\n');
    }
  });
}

/** The same in each transaction: one that was refused for too many recipients is offered again. */
const stepOf = (address: string): Step => script.recipients[Number(/\d+/.exec(address)?.[0])] ?? 550;

const refusal = fc.constantFrom(421, 450, 452, 550, 554, 'hangs up' as const);
const mostly = (good: number) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: refusal });
const scripts: fc.Arbitrary<Script> = fc.record({
  hasPipelining: fc.boolean(),
  mail: mostly(250),
  recipients: fc.array(fc.oneof(fc.constant(250), fc.constant(251), refusal), { minLength: 1, maxLength: 5 }),
  data: mostly(354),
  message: mostly(250),
  pieceOctets: fc.constantFrom(1, 7, 1_000),
});

const isGood = (step: Step | undefined): boolean => typeof step === 'number' && step < 400;

async function send(recipients: readonly string[]): Promise<SendOutcome | SmtpError> {
  try {
    return await client.send({
      host: '127.0.0.1',
      port,
      mailFrom: 'a@example.net',
      recipients,
      message: Buffer.from('Subject: x\r\n\r\nbody\r\n.dot\r\n'),
    });
  } catch (error) {
    assert.ok(error instanceof SmtpError, String(error));
    return error;
  }
}

test('EDGE-07: whatever a server replies, a recipient is accepted exactly if it has the message', () =>
  fc.assert(
    fc.asyncProperty(fc.array(scripts, { minLength: 1, maxLength: 4 }), async (several) => {
      for (const one of several) {
        script = one;
        stored = [];
        const recipients = one.recipients.map((_, index) => `r${index}@example.org`);
        const outcome = await send(recipients);
        const isSent = isGood(one.mail) && one.data === 354 && isGood(one.message);
        // Accepted by the server, as far as it came to that.
        const good = recipients.filter((_, index) => isGood(one.recipients[index]));
        const steps = [one.mail, ...one.recipients, one.data, one.message];
        const isCut = steps.includes('hangs up') || steps.includes(421);
        if (outcome instanceof SmtpError) {
          assert.deepEqual(stored, [], JSON.stringify(one));
          assert.ok(outcome.isTransient, `${outcome.code} ${JSON.stringify(one)}`);
          assert.ok(isCut, JSON.stringify([outcome.code, one]));
          continue;
        }
        const rejected = new Map(outcome.rejected.map((entry) => [entry.address, entry.code]));
        const accepted = recipients.filter((address) => !rejected.has(address));
        assert.deepEqual(accepted, stored, JSON.stringify(one));
        if (!isCut) assert.deepEqual(accepted, isSent ? good : [], JSON.stringify(one));
        for (const [address, code] of rejected) {
          const own = one.recipients[recipients.indexOf(address)];
          const said = [one.mail, own, one.data, one.message];
          assert.ok(said.includes(code), JSON.stringify([address, code, one]));
          if (isGood(one.mail) && typeof own === 'number' && !isGood(own)) assert.equal(code, own);
        }
      }
    }),
    { numRuns: 300 },
  ));
