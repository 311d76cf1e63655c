import { readFile } from 'node:fs/promises';
import type { EdgeClient } from './edge-client.ts';
import { demoAddress, domains, mailHosts, partners, type PartnerOutcome } from './sandbox-names.ts';
import type { ReceivedWebhook } from './side-server.ts';
import type { WireLine, WireLog } from './wire/wire-log.ts';

interface PlaygroundParts {
  /** The demo client: sends go through the API as those of any edge. */
  readonly client: EdgeClient;
  readonly wire: WireLog;
  /** Calls that the sandbox's webhook receiver took. */
  received(): readonly ReceivedWebhook[];
}

type Level = 'ok' | 'waiting' | 'warning' | 'failed' | 'none';
type Host = 'client' | 'this HISP' | 'DNS' | 'partner HISP' | 'silent HISP' | 'webhook';

interface WireEvent {
  readonly id: number;
  readonly at: string;
  readonly kind: 'state' | 'dns' | 'smtp' | 'mdn' | 'webhook';
  readonly from: Host;
  readonly to: Host;
  readonly text: string;
  readonly level: Level;
}

type Seen = Omit<WireEvent, 'id'>;

interface Sent {
  readonly messageId: string;
  readonly to: string;
  readonly sentAtMs: number;
  /** In the order in which they were found, so that an id stays that of its event. */
  readonly events: WireEvent[];
  readonly known: Set<string>;
  completeAtMs: number | undefined;
}

interface StatusAnswer {
  readonly messageStatus: string;
  readonly result: readonly {
    readonly final: boolean;
    readonly status: string;
    readonly statusText: string;
    readonly history: readonly {
      readonly event: string;
      readonly time: string;
      readonly reason: string;
      readonly diagnostic: string;
    }[];
  }[];
}

const outcomes: Readonly<Record<PartnerOutcome, { readonly title: string; readonly text: string }>> = {
  processed: { title: 'Processed', text: 'The partner takes the message and sends a processed MDN.' },
  dispatched: {
    title: 'Dispatched',
    text: 'As above, and a dispatched MDN once the edge of the partner has it.',
  },
  failed: { title: 'Failed', text: 'The mailbox is disabled: the partner answers with a failure DSN.' },
  expired: { title: 'Expired', text: 'The mail server takes the message, and no MDN ever comes.' },
  untrusted: { title: 'Untrusted', text: 'Its certificate is from an authority that nobody here trusts.' },
  noCertificate: { title: 'No certificate', text: 'It has a mail server, and no certificate anywhere.' },
};

/** Kinds of documents that the sample is sent as: its title and code change, its content stays. */
const documents = [
  { id: 'referral-note', title: 'Referral Note', code: '57133-1', name: 'Referral note' },
  {
    id: 'continuity-of-care',
    title: 'Continuity of Care Document',
    code: '34133-9',
    name: 'Summarization of episode note',
  },
  { id: 'discharge-summary', title: 'Discharge Summary', code: '18842-5', name: 'Discharge summary' },
] as const;

/** Exchanges kept in memory. */
const maxSent = 200;
/** After the last state a webhook call and the end of a connection may still come. */
const afterFinalMs = 1500;
/** A clock tick between the send and the first line. */
const leadMs = 50;

/**
 * The sandbox's playground: sends as the demo client, and reports the traffic of each message on the wire.
 */
export async function createPlayground({ client, wire, received }: PlaygroundParts) {
  const note = await readFile(new URL('./data/referral-note.xml', import.meta.url), 'utf8');
  const files = documents.map((document) => ({
    ...document,
    bytes: Buffer.from(
      note
        .replace('code="57133-1"', `code="${document.code}"`)
        .replace('displayName="Referral note"', `displayName="${document.name}"`)
        .replace('<title>Referral Note</title>', `<title>${document.title}</title>`),
    ),
  }));
  const sent = new Map<string, Sent>();

  return {
    describe: () => ({
      from: demoAddress,
      partners: Object.entries(outcomes).map(([name, words]) => {
        const outcome = name as PartnerOutcome;
        return { outcome, address: partners[outcome], ...words };
      }),
      samples: files.map(({ id, title, bytes }) => ({
        id,
        title,
        mediaType: 'text/xml',
        bytes: bytes.length,
      })),
    }),

    /** The message id; undefined for a sample that does not exist. */
    async send(request: { to: string; sample: string; requestFinalDelivery?: boolean }) {
      const file = files.find(({ id }) => id === request.sample);
      if (file === undefined) return undefined;
      const sentAtMs = Date.now() - leadMs;
      const answer = (await client.post('/messaging/dirmsg/send_ccda', {
        fromDirectAddress: demoAddress,
        toDirectAddress: request.to,
        messageSubject: file.title,
        messageBody: 'A sample of the playground.',
        ...(request.requestFinalDelivery === true && { requestFinalDelivery: true }),
        emailAttachmentList: [
          {
            attachmentClass: 'text/xml',
            attachmentContent: file.bytes.toString('base64'),
            attachmentTitle: file.title,
            attachmentFileName: `${file.id}.xml`,
          },
        ],
      })) as { messageId: string };
      const { messageId } = answer;
      sent.set(messageId, {
        messageId,
        to: request.to.toLowerCase(),
        sentAtMs,
        events: [],
        known: new Set(),
        completeAtMs: undefined,
      });
      for (const oldest of sent.keys()) if (sent.size > maxSent) sent.delete(oldest);
      return messageId;
    },

    /**
     * Events of a message after the event `after`; undefined for a message that the playground did not send.
     */
    async exchange(messageId: string, after: number) {
      const one = sent.get(messageId);
      if (one === undefined) return undefined;
      const status = (await client.get(
        `/messaging/dirmsg/status/${encodeURIComponent(messageId)}`,
      )) as StatusAnswer;
      const isFinal = status.result.every(({ final }) => final);
      if (isFinal) one.completeAtMs ??= Date.now() + afterFinalMs;
      const isComplete = one.completeAtMs !== undefined && Date.now() >= one.completeAtMs;
      for (const event of [
        ...ofStates(status),
        ...ofWire(one, wire.since(one.sentAtMs)),
        ...ofWebhook(one, received()),
      ].toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))) {
        const key = `${event.at} ${event.from} ${event.to} ${event.text}`;
        if (one.known.has(key)) continue;
        one.known.add(key);
        one.events.push({ id: one.events.length + 1, ...event });
      }
      const events = one.events.filter(({ id }) => id > after);
      return {
        messageId,
        state: status.messageStatus,
        sentence: status.result[0]?.statusText ?? '',
        isComplete,
        events,
        last: one.events.at(-1)?.id ?? null,
      };
    },
  };
}

const stateWords: Readonly<Record<string, (reason: string) => Omit<Seen, 'at'>>> = {
  accepted: () => own('POST send_ccda: stored, will be sent', 'none', 'client'),
  sent: () => own('sent: the mail server took it', 'none'),
  refused: (reason) => own(`refused: ${reason}`, 'failed'),
  processed: () => mdn('MDN: processed', 'ok'),
  dispatched: () => mdn('MDN: dispatched', 'ok'),
  'failure-reported': (reason) => mdn(`MDN or DSN: failed, ${reason}`, 'failed'),
  'window-closed': () => own('no MDN in time: expired', 'warning'),
};

function own(text: string, level: Level, from: Host = 'this HISP'): Omit<Seen, 'at'> {
  return { kind: 'state', from, to: 'this HISP', text, level };
}

function mdn(text: string, level: Level): Omit<Seen, 'at'> {
  return { kind: 'mdn', from: 'partner HISP', to: 'this HISP', text, level };
}

function ofStates(status: StatusAnswer): readonly Seen[] {
  return status.result.flatMap(({ history }) =>
    history.flatMap(({ event, time, reason }) => {
      const words = stateWords[event]?.(reason);
      return words === undefined ? [] : [{ at: time, ...words }];
    }),
  );
}

/**
 * Lines that belong to a message: questions about its recipient's domain, transactions that name the
 * recipient, and those that come back to its sender. The MDNs are encrypted, so two simultaneous messages to
 * one domain each show the MDNs of both.
 */
function ofWire(one: Sent, lines: readonly WireLine[]): readonly Seen[] {
  const domain = one.to.slice(one.to.indexOf('@') + 1);
  const hosts = new Set<string>([domain, one.to.replace('@', '.'), `mx.${domain}`]);
  const isAbout = (line: WireLine): boolean => {
    if (line.kind === 'dns') return hosts.has(line.name) || line.name.endsWith(`.${domain}`);
    const { mailFrom = '', recipients = [] } = line.transaction ?? {};
    if (recipients.includes(one.to)) return true;
    const isBack = line.from === 'partner HISP' ? line.to === 'this HISP' : line.to === 'partner HISP';
    return (
      isBack &&
      recipients.includes(demoAddress) &&
      domain === domains.partner &&
      (mailFrom === '' || mailFrom.endsWith(`@${domain}`) || mailFrom.endsWith(mailHosts.partner))
    );
  };
  const end = one.completeAtMs ?? Number.POSITIVE_INFINITY;
  return lines
    .filter((line) => line.atMs <= end && isAbout(line))
    .map(({ atMs, kind, from, to, text, isRefusal }) => ({
      at: new Date(atMs).toISOString(),
      kind,
      from,
      to,
      text,
      level: isRefusal ? 'failed' : 'none',
    }));
}

function ofWebhook(one: Sent, calls: readonly ReceivedWebhook[]): readonly Seen[] {
  return calls.flatMap(({ receivedAt, body }) => {
    const { messageId, eventType } = (body ?? {}) as { messageId?: string; eventType?: string };
    if (messageId !== one.messageId) return [];
    const text = `POST ${eventType ?? 'event'}, 204`;
    return [
      { at: receivedAt, kind: 'webhook', from: 'this HISP', to: 'webhook', text, level: 'ok' } as const,
    ];
  });
}
