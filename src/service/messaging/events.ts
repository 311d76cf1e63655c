/** Counters and log lines; log lines have ids and codes, counters only the labels. */
export const messagingEvents = {
  accepted: {
    counter: 'openhisp_messages_accepted_total',
    help: 'Messages accepted from edge clients.',
    level: 'debug',
    text: 'a message was accepted',
  },
  refused: {
    counter: 'openhisp_sends_refused_total',
    help: 'Messages of edge clients that were refused.',
    labels: ['code'],
    level: 'debug',
    text: 'a send was refused',
  },
  changed: {
    counter: 'openhisp_recipient_states_total',
    help: 'Recipients of sent messages that entered a state.',
    labels: ['state', 'reason'],
    level: 'debug',
    text: 'a recipient entered a state',
  },
  received: {
    counter: 'openhisp_messages_received_total',
    help: 'Messages stored for local recipients.',
    level: 'debug',
    text: 'a message was received',
  },
  mdnReceived: {
    counter: 'openhisp_mdns_received_total',
    help: 'MDNs and DSNs from other HISPs, with the reason if ignored.',
    labels: ['kind', 'ignored'],
    level: 'debug',
    text: 'an MDN or DSN was received',
  },
  rejected: {
    counter: 'openhisp_mail_rejected_total',
    help: 'Incoming mail that was rejected permanently.',
    labels: ['code'],
    level: 'warn',
    text: 'an incoming message was rejected',
  },
  postponed: {
    counter: 'openhisp_mail_postponed_total',
    help: 'Failed attempts to process incoming mail that will be retried.',
    labels: ['code'],
    level: 'warn',
    text: 'incoming mail could not be processed and will be retried',
  },
  deadLettered: {
    counter: 'openhisp_mail_dead_letters_total',
    help: 'Incoming mail that could not be processed and waits for an operator.',
    labels: ['code'],
    level: 'error',
    text: 'incoming mail could not be processed and is a dead letter; see openhisp mail list',
  },
} as const;
