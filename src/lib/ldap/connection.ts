import { connect } from 'node:net';
import { isShortageCode } from '../../core/index.ts';
import { LdapError } from './errors.ts';
import { createMessageReader } from './message-reader.ts';
import { operations, type LdapMessage } from './message.ts';

export interface ConnectionOptions {
  /** An IP address. */
  readonly host: string;
  readonly port: number;
  /** From connecting to the last answer. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
}

/** A connection for one lookup: one request after the other. */
export interface LdapConnection {
  /**
   * Sends a request, written for the id that it is given, and resolves with the messages that answer it, the
   * last of which has the `final` operation. Rejects when the connection fails, ends, takes too long or
   * brings too much.
   */
  ask(write: (id: number) => Buffer, final: number): Promise<readonly LdapMessage[]>;
  close(): void;
}

interface Question {
  readonly id: number;
  readonly final: number;
  readonly answers: LdapMessage[];
  resolve(answers: readonly LdapMessage[]): void;
}

export function openConnection({
  host,
  port,
  timeoutMs,
  connectTimeoutMs,
}: ConnectionOptions): LdapConnection {
  const { promise: failure, reject } = Promise.withResolvers<never>();
  // Every query also waits for the failure; between queries nothing does.
  failure.catch(() => {});
  const socket = connect({ host, port, noDelay: true });
  const connectTimer = setTimeout(() => fail('did not take the connection in time'), connectTimeoutMs);
  const timer = setTimeout(() => fail('did not answer in time'), timeoutMs);
  const stop = () => {
    clearTimeout(connectTimer);
    clearTimeout(timer);
    socket.destroy();
  };
  const fail = (what: string) => {
    reject(new LdapError('LDAP_SERVER_FAILED', `The LDAP server ${what}`));
    stop();
  };

  let question: Question | undefined;
  let lastId = 0;
  const take = (message: LdapMessage) => {
    if (message.id === 0) return fail('ends the connection');
    // Unsolicited messages are dropped; their number is limited.
    if (question === undefined || message.id !== question.id) return;
    question.answers.push(message);
    if (message.operation === question.final) question.resolve(question.answers);
  };
  const reader = createMessageReader(take);

  socket.on('connect', () => clearTimeout(connectTimer));
  socket.on('error', (error: NodeJS.ErrnoException) => {
    if (isShortageCode(error.code))
      reject(new LdapError('LDAP_NO_SOCKET', 'No socket could be opened, see the limit of open files'));
    fail(`cannot be reached: ${error.message}`);
  });
  socket.on('close', () => fail('closed the connection'));
  socket.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk);
    } catch (error) {
      if (!(error instanceof LdapError)) throw error;
      fail(`does not speak LDAP: ${error.message}`);
    }
  });
  return {
    async ask(write, final) {
      const { promise, resolve } = Promise.withResolvers<readonly LdapMessage[]>();
      question = { id: ++lastId, final, answers: [], resolve };
      socket.write(write(lastId));
      return Promise.race([promise, failure]);
    },
    close: () => {
      // The unbind request is sent without waiting for its arrival.
      if (socket.writable)
        socket.end(Buffer.of(0x30, 5, 2, 1, (lastId + 1) & 0x7f, 0x40 | operations.unbindRequest, 0));
      clearTimeout(connectTimer);
      clearTimeout(timer);
      setTimeout(stop, closeAfterMs).unref();
    },
  };
}

const closeAfterMs = 1_000;
