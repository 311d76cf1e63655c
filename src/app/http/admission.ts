import { errorCodes, type FastifyReply, type FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Transform, type Readable } from 'node:stream';
import {
  createBudget,
  createRateWatch,
  networkOf,
  type Budget,
  type BudgetRefusal,
  type RateWatch,
  type Reservation,
} from '../../core/index.ts';
import type { Config, Metrics } from '../../platform/index.ts';
import { buildErrorEnvelope, jsonMediaType } from './envelope.ts';
import { HttpError } from './errors.ts';
import type { HttpEmit } from './events.ts';
import type { HispFastify } from './types.ts';

/** Reserves capacity for requests before their bodies are read (Decision 0020). */
export interface Admission {
  /**
   * Called as soon as the caller is known. Throws HTTP_CLIENT_BUSY if the client has reached its number of
   * concurrent requests.
   */
  admitClient(request: FastifyRequest, clientId: string): void;
}

/** Resources held by one request until it is answered and its handler has ended. */
interface Held {
  /** Where it came from. */
  readonly address: string;
  /** Whom the body is counted for: the client, or the address of an unauthenticated caller. */
  caller: string;
  /** True once the token was checked. */
  isKnown: boolean;
  readonly reservations: Reservation[];
  /** Since when it only waits for its caller: for the rest of the body, or for the answer to be taken. */
  waitsSinceMs: number | undefined;
  /** Cuts the connection if the answer is not taken in time. */
  answerTimer: NodeJS.Timeout | undefined;
  endWatch(): void;
  /** Memory of a large answer, until the client has taken it. */
  answer: Reservation | undefined;
  isHandled: boolean;
  isClosed: boolean;
}

/**
 * Time in which the unread body of a refused request is still received, so that the client can read the
 * answer.
 */
const lingerMs = 5_000;
/** Initial reservation for a body of unknown length. */
const unknownLengthBytes = 64 * 1024;
/** Answers up to this size are bounded by the number of requests. */
const smallAnswerBytes = 256 * 1024;
/**
 * An answer that is taken slowly is seen to move in steps of about a slice and a socket's buffer of 64 kB.
 */
const answerStepBytes = 96 * 1024;
/** A request without a valid token that waits for less is ended only for a caller with fewer. */
const evictWaitMs = 2_000;
/** Retry-After of a refusal because of a limit; other requests release their share within seconds. */
const retrySeconds = 2;

/**
 * Adds the hooks that admit requests and their bodies. Health and metrics are always answered: they show the
 * load.
 */
export function addAdmission(
  app: HispFastify,
  { config, metrics, emit }: { config: Config['http']; metrics: Metrics; emit: HttpEmit },
): Admission {
  const requests = createBudget({ total: config.maxRequests, perCaller: config.maxRequestsPerAddress });
  // Part of the capacity is reserved for callers with a token.
  const unauthenticated = createBudget({
    total: Math.ceil(config.maxRequests / 2),
    perCaller: Math.ceil(config.maxRequestsPerAddress / 2),
  });
  const clients = createBudget({ total: config.maxRequests, perCaller: config.maxRequestsPerClient });
  const bodies = createBudget({
    total: config.maxUploadBytes,
    perCaller: config.maxUploadBytesPerClient,
    smallAmount: 256 * 1024,
  });
  const rates = createRateWatch({
    minBytesPerSecond: config.minUploadBytesPerSecond,
    windowMs: config.uploadWindowSeconds * 1000,
  });
  const answers = createAnswerWatch(config);
  measure(metrics, { requests, bodies });
  const held = new WeakMap<FastifyRequest, Held>();
  const unknown = createUnknownCallers();
  const whenClosed = createCloseListeners();

  function reserve(request: FastifyRequest, budget: Budget, caller: string, amount: number): Reservation {
    let reservation = budget.reserve(caller, amount);
    // What others hold back is ended for a caller that holds less.
    if (reservation === 'total' && budget !== bodies && unknown.endOne(caller)) {
      emit('evicted', {}, { requestId: request.id });
      reservation = budget.reserve(caller, amount);
    }
    if (typeof reservation === 'string') throw refuse(request, reservation);
    held.get(request)?.reservations.push(reservation);
    return reservation;
  }

  function refuse(request: FastifyRequest, reason: BudgetRefusal): HttpError {
    emit('refused', { reason }, { requestId: request.id });
    const code = reason === 'caller' ? 'HTTP_CLIENT_BUSY' : 'HTTP_OVERLOADED';
    return new HttpError(code, `no capacity: ${reason}`, { retryAfterSeconds: retrySeconds });
  }

  function endIfDone(one: Held): void {
    if (one.isClosed) {
      clearTimeout(one.answerTimer);
      one.endWatch();
    }
    if (!one.isHandled || !one.isClosed) return;
    for (const reservation of one.reservations) reservation.release();
  }

  app.addHook('onRequest', async (request, reply) => {
    if (isAlwaysAnswered(request)) return;
    const address = callerOf(request);
    const one: Held = {
      address,
      caller: address,
      isKnown: false,
      reservations: [],
      answerTimer: undefined,
      endWatch: () => {},
      waitsSinceMs: undefined,
      answer: undefined,
      isHandled: false,
      isClosed: false,
    };
    held.set(request, one);
    unknown.add(one, request.raw.socket);
    whenClosed(reply.raw, request.raw.socket, () => {
      one.isClosed = true;
      unknown.remove(one);
      linger(request);
      endIfDone(one);
    });
    if (!hasToken(request)) reserve(request, unauthenticated, one.caller, 1);
    reserve(request, requests, one.caller, 1);
  });

  app.addHook('preParsing', async (request, reply, payload) => {
    const one = held.get(request);
    const lengthText = request.headers['content-length'];
    const hasBody = request.headers['transfer-encoding'] !== undefined || Number(lengthText ?? 0) > 0;
    if (one === undefined || !hasBody) return payload;
    const length = lengthText === undefined ? undefined : Number(lengthText);
    const limit = request.routeOptions.bodyLimit ?? config.maxBodyBytes;
    if (length !== undefined && length > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
    const room = reserve(request, bodies, one.caller, length ?? unknownLengthBytes);
    // The client waits for this response before it sends the body, so a refusal costs no upload. One of
    // HTTP/1.0 would take it for the answer (RFC 9110 §10.1.1).
    if (request.headers.expect !== undefined && request.raw.httpVersion !== '1.0') reply.raw.writeContinue();
    const { socket } = request.raw;
    one.waitsSinceMs = performance.now();
    one.endWatch = rates.watch(
      () => socket.bytesRead,
      () => {
        emit('slowUpload', {}, { requestId: request.id });
        socket.end(formatTooSlow(request.id));
        setTimeout(() => socket.destroy(), 1000).unref();
      },
    );
    return length === undefined ? countChunks(payload, room, (reason) => refuse(request, reason)) : payload;
  });

  app.decorateRequest('reserveAnswer', function (bytes) {
    const one = held.get(this);
    if (one === undefined || bytes <= smallAnswerBytes) return;
    if (one.answer === undefined) one.answer = reserve(this, bodies, one.caller, bytes);
    const reason = bytes > one.answer.amount ? one.answer.grow(bytes - one.answer.amount) : undefined;
    if (reason !== undefined) throw refuse(this, reason);
  });

  app.addHook('preValidation', async (request) => {
    const one = held.get(request);
    if (one === undefined) return;
    one.waitsSinceMs = undefined;
    one.endWatch();
  });

  // Runs for every answer, even if the client has disconnected: then the handler has ended.
  app.addHook('onSend', async (request, reply) => {
    const one = held.get(request);
    if (one === undefined) return;
    if (!request.raw.complete) keepOpen(reply);
    one.isHandled = true;
    one.waitsSinceMs = performance.now();
    one.endWatch();
    const { socket } = request.raw;
    const end = (): void => {
      emit('slowReader', {}, { requestId: request.id });
      socket.destroy();
    };
    if (one.answer !== undefined) one.endWatch = answers.watch(() => socket.bytesWritten, end);
    // A client only holds its own share by reading slowly; callers that are not known would hold that of all
    // others like them.
    clearTimeout(one.answerTimer);
    if (!one.isKnown) one.answerTimer = setTimeout(end, config.unauthenticatedAnswerSeconds * 1000).unref();
    endIfDone(one);
  });

  // Node would otherwise request the body before the request is checked.
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  return {
    admitClient(request, clientId) {
      const one = held.get(request);
      if (one === undefined) return;
      one.caller = `client ${clientId}`;
      one.isKnown = true;
      unknown.remove(one);
      reserve(request, clients, one.caller, 1);
    },
  };
}

/**
 * As for bodies, but one step may always be under way: the window is longer than a step takes at the least
 * rate, so that a client which has that rate is never ended.
 */
function createAnswerWatch({
  minUploadBytesPerSecond: rate,
  uploadWindowSeconds,
}: Config['http']): RateWatch {
  const windowSeconds =
    rate === 0 ? uploadWindowSeconds : Math.max(uploadWindowSeconds, (1.25 * answerStepBytes) / rate);
  return createRateWatch({
    minBytesPerSecond: Math.max(0, rate - answerStepBytes / windowSeconds),
    windowMs: windowSeconds * 1000,
  });
}

/**
 * Requests of callers without a valid token, by caller. When there is no room, one that only waits for its
 * caller is ended: of a caller with more than the newcomer has, or one that has waited for some time.
 */
function createUnknownCallers() {
  const requests = new Map<string, Map<Held, Socket>>();

  function remove(one: Held): void {
    const own = requests.get(one.address);
    own?.delete(one);
    if (own?.size === 0) requests.delete(one.address);
  }

  return {
    add(one: Held, socket: Socket): void {
      const own = requests.get(one.address) ?? new Map<Held, Socket>();
      requests.set(one.address, own.set(one, socket));
    },
    remove,
    /** True if there is room now. */
    endOne(newcomer: string): boolean {
      const share = Math.max(requests.get(newcomer)?.size ?? 0, 1);
      const longAgoMs = performance.now() - evictWaitMs;
      const shares = [...requests.values()].filter((own) => own.size >= share);
      for (const own of shares.toSorted((a, b) => b.size - a.size)) {
        const untilMs = own.size > share ? Infinity : longAgoMs;
        for (const [one, socket] of own) {
          if (one.reservations.length === 0 || (one.waitsSinceMs ?? Infinity) >= untilMs) continue;
          for (const reservation of one.reservations) reservation.release();
          remove(one);
          socket.destroy();
          return true;
        }
      }
      return false;
    },
  };
}

/**
 * Calls once when an answer is out or its connection is closed. Node before 24 does not report the end of an
 * answer that waits behind an earlier one of its connection (pipelining), so the connection tells it.
 */
function createCloseListeners(): (answer: ServerResponse, socket: Socket, end: () => void) => void {
  const endsOf = new WeakMap<Socket, Set<() => void>>();
  function listen(socket: Socket): Set<() => void> {
    const ends = new Set<() => void>();
    endsOf.set(socket, ends);
    socket.once('close', () => {
      for (const end of ends) end();
    });
    return ends;
  }
  return (answer, socket, end) => {
    const ends = endsOf.get(socket) ?? listen(socket);
    const endOnce = (): void => {
      if (ends.delete(endOnce)) end();
    };
    ends.add(endOnce);
    answer.once('close', endOnce);
  };
}

function measure(metrics: Metrics, { requests, bodies }: { requests: Budget; bodies: Budget }): void {
  metrics.measured(
    {
      name: 'openhisp_http_requests_in_progress',
      help: 'Requests in progress (limit: http.maxRequests).',
    },
    () => requests.used,
  );
  metrics.measured(
    {
      name: 'openhisp_http_body_bytes',
      help: 'Memory reserved for request bodies (limit: http.maxUploadBytes).',
    },
    () => bodies.used,
  );
}

/**
 * A token is checked before the body is read, so an invalid one occupies capacity only until then. The token
 * endpoint needs none.
 */
function hasToken({ headers, routeOptions: { url } }: FastifyRequest): boolean {
  return /^bearer +\S/i.test(headers.authorization ?? '') && url?.startsWith('/oauth2/') !== true;
}

/**
 * Requests of one network (IPv6: a /64) with and without a token are counted separately: one must not exhaust
 * the other's share.
 */
function callerOf(request: FastifyRequest): string {
  return `${hasToken(request) ? 'token at' : 'address'} ${networkOf(request.ip)}`;
}

/** Health and metrics show the state of the service, whatever it is. */
export function isAlwaysAnswered({ routeOptions: { url = '' } }: FastifyRequest): boolean {
  return url.startsWith('/health/') || url === '/metrics';
}

/** Written directly to the connection: the request is incomplete, so no handler can answer it. */
function formatTooSlow(requestId: string): string {
  const problem = { field: '', reason: 'too_slow', detail: 'The body of the request arrived too slowly.' };
  const body = JSON.stringify(buildErrorEnvelope(408, [problem], requestId));
  const headers = [
    'HTTP/1.1 408 Request Timeout',
    'Connection: close',
    `X-Request-Id: ${requestId}`,
    `Content-Type: ${jsonMediaType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${headers.join('\r\n')}\r\n\r\n${body}`;
}

/**
 * Node would close a connection that is not kept alive right after the answer, and a client that still sends
 * would not read it.
 */
function keepOpen(reply: FastifyReply): void {
  reply.removeHeader('Connection');
  reply.raw.shouldKeepAlive = true;
}

// An unread body is discarded for a while: closing the connection at once would lose the answer.
function linger({ raw }: FastifyRequest): void {
  if (raw.complete || raw.socket.destroyed) return;
  const { socket } = raw;
  raw.unpipe();
  raw.resume();
  raw.once('end', () => {
    if (/\bclose\b/i.test(raw.headers.connection ?? '')) socket.end();
  });
  setTimeout(() => {
    if (!raw.complete) socket.destroy();
  }, lingerMs).unref();
}

/** Increases the reservation while a body of unknown length arrives. */
function countChunks(
  payload: Readable,
  room: Reservation,
  refuse: (reason: BudgetRefusal) => HttpError,
): Readable {
  let received = 0;
  const counting = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length;
      const reason = received > room.amount ? room.grow(Math.max(chunk.length, room.amount)) : undefined;
      if (reason === undefined) done(null, chunk);
      else done(refuse(reason));
    },
  });
  payload.once('error', (error) => counting.destroy(error));
  return payload.pipe(counting);
}
