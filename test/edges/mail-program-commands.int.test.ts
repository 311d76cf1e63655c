/**
 * What mail programs and libraries send, by the sources and session logs of each: every command of a mailbox
 * that is empty, and of one with three messages. What they send unasked (extensions that are not offered) is
 * not here.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { alice, bob } from '../messaging/start-messaging.ts';
import { readResponse } from './read-imap-response.ts';
import { endsWith, startTestEdges, type Dialogue, type TestEdges } from './start-edges.ts';

let world: TestEdges;
let password: string;
let plain: string;
before(async () => {
  world = await startTestEdges();
  ({ password } = await world.createAccount());
  plain = Buffer.from(`\0${alice}\0${password}`).toString('base64');
});
after(() => world.close());

/** A command, or one with the answer that it may have other than OK. */
type Step = string | readonly [command: string, answer: RegExp];

const refused = /^NO \[CANNOT\]/;
const noSuch = /^NO \[NONEXISTENT\]/;
/** Of a mailbox with messages alone: numbers that are not there are a fault. */
const isOfMessages = (command: string): boolean => /^(FETCH|STORE|COPY) [\d:]+ /i.test(command);

const imapPrograms: Readonly<Record<string, readonly Step[]>> = {
  Thunderbird: [
    'capability',
    'ID ("name" "Thunderbird" "version" "128.5.0")',
    'namespace',
    'lsub "" "*"',
    'list "" "INBOX"',
    'list "" "%"',
    'list (special-use) "" "*"',
    'list (subscribed) "" "*" return (special-use)',
    ['create "Trash"', /^NO \[ALREADYEXISTS\]/],
    'subscribe "Trash"',
    ['create "Drafts"', refused],
    'select "Trash"',
    'UID fetch 1:* (FLAGS)',
    'select "Sent"',
    'UID fetch 1:* (FLAGS)',
    ['append "Drafts" (\\Draft) {9+}\r\nSubject: ', refused],
    ['append "Sent" (\\Seen) "21-Nov-2026 11:00:00 +0000" {9+}\r\nSubject: ', refused],
    'select "INBOX"',
    'UID fetch 1:* (FLAGS)',
    'UID fetch 2:3 (UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (From To Cc Bcc Subject Date Message-ID Priority X-Priority References Newsgroups In-Reply-To Content-Type Reply-To)])',
    'UID fetch 2 (UID RFC822.SIZE BODY.PEEK[])',
    'UID fetch 2 (UID BODY.PEEK[HEADER] BODYSTRUCTURE)',
    'UID fetch 2 (BODY.PEEK[1.MIME] BODY.PEEK[1] BODY.PEEK[2.MIME])',
    'UID fetch 2 (UID BODY.PEEK[]<0.65536>)',
    'uid store 2 +Flags (\\Seen)',
    'uid store 2 +Flags (NonJunk)',
    'uid store 2 -FLAGS (Junk $Label1)',
    'uid store 2 +FLAGS ($Forwarded \\Answered)',
    'uid copy 2 "Trash"',
    ['uid copy 2 "Archive"', noSuch],
    'uid store 2 +FLAGS (\\Deleted \\Seen)',
    'uid store 2 -FLAGS (\\Deleted)',
    'UID SEARCH UNDELETED HEADER Message-ID "x@y"',
    'UID SEARCH SINCE 1-Jan-2026 UNDELETED',
    'SEARCH CHARSET UTF-8 OR SUBJECT {3+}\r\nabc FROM {4+}\r\nübc',
    'STATUS "INBOX" (UIDNEXT MESSAGES UNSEEN RECENT)',
    'noop',
    'uid expunge 2000',
    'expunge',
    'check',
    'close',
    'logout',
  ],
  Outlook: [
    'CAPABILITY',
    'LIST "" ""',
    'LIST "" "*"',
    'LSUB "" "*"',
    ['CREATE "Sent Items"', refused],
    'SELECT "INBOX"',
    'UID FETCH 1:* (UID FLAGS)',
    'FETCH 1:* (UID FLAGS)',
    'UID FETCH 1:3 (BODY.PEEK[HEADER] ENVELOPE RFC822.SIZE UID FLAGS INTERNALDATE)',
    'UID FETCH 3 (BODY.PEEK[] UID)',
    'UID SEARCH 1:* NOT DELETED',
    'UID SEARCH UID 1:*',
    'UID STORE 3 +FLAGS.SILENT (\\Seen \\Flagged)',
    'UID STORE 3 -FLAGS.SILENT \\Flagged',
    'NOOP',
    'EXPUNGE',
    'EXAMINE "Inbox"',
    'STATUS inbox (UNSEEN)',
    'UNSELECT',
    'LOGOUT',
  ],
  'Apple Mail': [
    'CAPABILITY',
    'ID ("name" "Mac OS X Mail" "version" "16.0 (3774)" "os" "Mac OS X" "os-version" "14.5 (23F79)" "vendor" "Apple Inc.")',
    'LIST "" ""',
    'LIST "" "*"',
    'LIST "INBOX" "*"',
    'LSUB "" "INBOX"',
    'SELECT INBOX',
    'FETCH 1:* (FLAGS UID)',
    'FETCH 500:* (FLAGS UID)',
    'FETCH 1:3 (INTERNALDATE UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (date subject from to cc message-id in-reply-to references content-type x-priority x-uniform-type-identifier x-universally-unique-identifier list-id list-unsubscribe bimi-indicator bimi-location x-bimi-indicator-hash authentication-results dkim-signature)])',
    'UID FETCH 1:3 (BODYSTRUCTURE BODY.PEEK[HEADER])',
    'UID FETCH 1 BODY.PEEK[1.MIME]',
    'UID FETCH 1 (BODY.PEEK[TEXT]<0.512>)',
    'UID STORE 1 +FLAGS.SILENT ($NotJunk NotJunk)',
    'UID STORE 1 -FLAGS.SILENT ($MailFlagBit0 $MailFlagBit1 \\Flagged)',
    'STATUS INBOX (MESSAGES UIDNEXT UIDVALIDITY UNSEEN)',
    'UID SEARCH NOT DELETED',
    ['UID COPY 1 "Deleted Messages"', noSuch],
    'CLOSE',
    'LOGOUT',
  ],
  'mutt and neomutt': [
    'CAPABILITY',
    'LIST "" ""',
    'LSUB "" "%"',
    'LIST "" INBOX',
    'STATUS "INBOX" (UIDNEXT UIDVALIDITY UNSEEN RECENT MESSAGES)',
    'SELECT "INBOX"',
    'FETCH 1:3 (UID FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS (DATE FROM SENDER SUBJECT TO CC MESSAGE-ID REFERENCES CONTENT-TYPE CONTENT-DESCRIPTION IN-REPLY-TO REPLY-TO LINES LIST-POST LIST-SUBSCRIBE LIST-UNSUBSCRIBE X-LABEL X-ORIGINAL-TO)])',
    'UID FETCH 1:* (UID FLAGS)',
    'UID FETCH 2 BODY.PEEK[]',
    'UID STORE 1,3 +FLAGS.SILENT (\\Seen)',
    'UID STORE 1:3 +FLAGS.SILENT (old)',
    'UID SEARCH UNDELETED TEXT "a b"',
    'UID SEARCH CHARSET UTF-8 (OR SUBJECT "x" NOT FROM "y") 1:*',
    'NOOP',
    'CLOSE',
    'LOGOUT',
  ],
  'K-9 and Thunderbird for Android': [
    'CAPABILITY',
    'ID ("name" "K-9 Mail" "version" "8.0")',
    'NAMESPACE',
    'LIST "" *',
    'LSUB "" "*"',
    'SELECT "INBOX"',
    'UID SEARCH 1:* NOT DELETED',
    'UID SEARCH UID 1,2,3 SINCE 01-Jan-2026 NOT DELETED',
    'UID SEARCH *:*',
    'UID FETCH 3,2,1 (UID FLAGS)',
    'UID FETCH 3 (UID INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS (date subject from content-type to cc bcc reply-to message-id references in-reply-to list-post list-unsubscribe sender X-K9mail-Identity Chat-Version)])',
    'UID FETCH 3 (UID BODYSTRUCTURE)',
    'UID FETCH 3 (UID BODY.PEEK[]<0.131072>)',
    'UID FETCH 3 (UID BODY.PEEK[1.1])',
    'UID STORE 3 +FLAGS.SILENT (\\Seen)',
    'UID SEARCH HEADER MESSAGE-ID "x@y"',
    'EXPUNGE',
    'UID EXPUNGE 5000',
    'LOGOUT',
  ],
  'JavaMail and Angus (Mirth Connect, eCRNow)': [
    'CAPABILITY',
    'LIST "" Inbox',
    'LIST "" %',
    'NAMESPACE',
    'SELECT Inbox',
    'SEARCH UNSEEN ALL',
    'SEARCH UNSEEN 1:500',
    'SEARCH UNDELETED UNSEEN OR FROM x SENTSINCE 1-Jan-2026 ALL',
    'FETCH 1:3 (ENVELOPE INTERNALDATE RFC822.SIZE FLAGS BODYSTRUCTURE)',
    'FETCH 1:3 (FLAGS UID RFC822.SIZE BODY.PEEK[HEADER.FIELDS (Message-ID X-Mailer)])',
    'FETCH 1 (BODY.PEEK[HEADER])',
    'FETCH 1 (BODYSTRUCTURE)',
    'FETCH 1 (BODY[1]<0.16384>)',
    'FETCH 1 (BODY[2]<0.16384>)',
    'FETCH 1 (RFC822.HEADER)',
    'FETCH 1 (BODY[1.MIME])',
    'FETCH 1 (RFC822)',
    'UID FETCH 1:* (UID)',
    'FETCH 1:* (UID)',
    'STORE 1 +FLAGS (\\Seen)',
    'STORE 1 FLAGS (\\Seen)',
    'SEARCH SEEN ALL',
    'STORE 1 -FLAGS (\\Seen)',
    ['COPY 1 Archive', noSuch],
    'STATUS INBOX (MESSAGES RECENT UIDNEXT UIDVALIDITY UNSEEN)',
    ['SEARCH CHARSET ISO-8859-1 SUBJECT x', /^NO \[BADCHARSET/],
    'NOOP',
    'EXAMINE Inbox',
    'CLOSE',
    'LOGOUT',
  ],
  imapflow: [
    'ID ("name" "imapflow" "vendor" "Postal Systems" "date" NIL)',
    'NAMESPACE',
    'LIST "" "*"',
    'LSUB "" "*"',
    'STATUS INBOX (MESSAGES RECENT UIDNEXT UIDVALIDITY UNSEEN)',
    'SELECT INBOX',
    'FETCH 1:* (UID FLAGS ENVELOPE BODYSTRUCTURE INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER] BODY.PEEK[])',
    'UID FETCH 2 (UID BODY.PEEK[2.MIME] BODY.PEEK[2]<0.1000>)',
    'UID SEARCH SINCE 1-Jan-2026 UNSEEN NOT DELETED NOT KEYWORD $x',
    'UID STORE 2 +FLAGS (\\Flagged)',
    'LOGOUT',
  ],
  'MailKit and System.Net': [
    'CAPABILITY',
    'NAMESPACE',
    'LIST "" "INBOX"',
    'SELECT INBOX',
    'UID SEARCH ALL',
    'UID FETCH 1:3 (UID FLAGS ENVELOPE BODYSTRUCTURE INTERNALDATE RFC822.SIZE)',
    'FETCH 1:* (ALL)',
    'UID FETCH 1 (BODY.PEEK[HEADER.FIELDS (REFERENCES X-MAILER)])',
    'UID FETCH 1 BODY.PEEK[2.MIME]',
    'UID STORE 1 FLAGS.SILENT (\\Seen)',
    'UID STORE 1 FLAGS.SILENT ()',
    'UID SEARCH NEW',
    'UID SEARCH OLD',
    'UID SEARCH LARGER 10 SMALLER 100000',
    'CLOSE',
    'LOGOUT',
  ],
  'imaplib, IMAPClient, getmail and offlineimap': [
    'CAPABILITY',
    'LIST "" *',
    'LIST "~" "%"',
    'EXAMINE INBOX',
    'FETCH 1:3 (UID RFC822.SIZE)',
    'SELECT INBOX',
    'UID FETCH 1:* (RFC822.SIZE)',
    'UID FETCH 1 (BODY.PEEK[])',
    'UID FETCH 1 (FLAGS BODY.PEEK[HEADER])',
    'FETCH 1 FULL',
    'FETCH 1 FAST',
    'FETCH 1 BODY.PEEK[HEADER.FIELDS (FROM  TO )]',
    'FETCH 1 (RFC822.TEXT)',
    'SEARCH (UNSEEN)',
    'SEARCH (FROM "x" SINCE "01-Jan-2026")',
    'SEARCH NOT SEEN',
    'STORE 1 +FLAGS \\Seen',
    'UID STORE 1 FLAGS (\\Deleted \\Seen)',
    'UID STORE 1 -FLAGS (\\Deleted)',
    ['STATUS Drafts (MESSAGES)', noSuch],
    ['SELECT Archive', noSuch],
    'LOGOUT',
  ],
  'PHP imap (c-client) and IMAP::Client': [
    'CAPABILITY',
    'LIST "" INBOX',
    'SELECT INBOX',
    'FETCH 1:3 FLAGS',
    'FETCH 1:500 FLAGS',
    'UID FETCH 500:* FLAGS',
    'FETCH 1 ENVELOPE',
    'FETCH 1:3 (UID ENVELOPE BODY.PEEK[HEADER.FIELDS (Newsgroups Content-MD5 Content-Disposition Content-Language Content-Location Path Xref Followup-To References)] INTERNALDATE RFC822.SIZE FLAGS)',
    'FETCH 1 BODYSTRUCTURE',
    'FETCH 1 BODY.PEEK[1]',
    'STORE 1 +Flags (\\SEEN)',
    'SEARCH UNANSWERED UNFLAGGED UNDRAFT',
    'SEARCH ALL',
    'STATUS "INBOX" (MESSAGES UNSEEN)',
    'EXPUNGE',
    'LOGOUT',
  ],
};

async function signedIn(t: TestContext): Promise<Dialogue> {
  const dialogue = endsWith(t, await world.open('imaps'));
  readResponse((await dialogue.line()) ?? '');
  assert.match((await dialogue.imap(`AUTHENTICATE PLAIN ${plain}`)).result, /^OK/);
  return dialogue;
}

async function speakImap(dialogue: Dialogue, steps: readonly Step[], isEmpty: boolean): Promise<void> {
  for (const step of steps) {
    const [command, answer] = typeof step === 'string' ? [step, /^OK /] : step;
    if (isEmpty && isOfMessages(command)) continue;
    const { untagged, result } = await dialogue.imap(command);
    assert.match(result, answer, `${command}: ${result}`);
    for (const line of untagged) readResponse(line, command);
    readResponse(`* ${result}`, command);
  }
}

async function receive(subject: string): Promise<void> {
  const inner = [
    `From: "Dr. \\"Bob\\"" <${bob}>`,
    `To: ${alice}, Undisclosed: ;`,
    `Subject: =?utf-8?q?${subject}?=`,
    `Message-ID: <${subject}@beta.example>`,
    'Date: Sat, 21 Nov 2026 11:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: multipart/alternative; boundary=c',
    '',
    '--c',
    '',
    'text',
    '--c--',
    '--b',
    'Content-Type: text/xml; name="a (b) \\"c\\".xml"',
    '',
    '<a/>',
    '--b--',
    '',
  ].join('\r\n');
  await world.receive({ from: bob, to: [alice], inner });
}

describe('commands of mail programs', () => {
  for (const [program, steps] of Object.entries(imapPrograms))
    it(`${program}, an empty mailbox`, async (t) => speakImap(await signedIn(t), steps, true));

  it('three messages come', async () => {
    for (const subject of ['one', 'two', 'three']) await receive(subject);
  });

  for (const [program, steps] of Object.entries(imapPrograms))
    it(`${program}, three messages`, async (t) => speakImap(await signedIn(t), steps, false));

  it('several at once, before any is answered', async (t) => {
    const dialogue = await signedIn(t);
    dialogue.send('a SELECT INBOX\r\nb UID FETCH 1:* (FLAGS)\r\nc NOOP\r\nd IDLE\r\nDONE\r\ne LOGOUT\r\n');
    const tagged: string[] = [];
    for (let line = await dialogue.line(); line !== undefined; line = await dialogue.line())
      if (/^[a-e+] /.test(line)) tagged.push(line.slice(0, 4));
    assert.deepEqual(tagged, ['a OK', 'b OK', 'c OK', '+ id', 'd OK', 'e OK']);
  });
});

/** One answer of one line each; `lines` follow. */
const popPrograms: Readonly<
  Record<string, readonly (readonly [command: string, answer: RegExp | 'lines'])[]>
> = {
  Thunderbird: [
    ['AUTH', 'lines'],
    ['CAPA', 'lines'],
    ['AUTH PLAIN', /^\+ $/],
    ['PLAIN', /^\+OK/],
    ['STAT', /^\+OK 3 \d+$/],
    ['LIST', 'lines'],
    ['UIDL', 'lines'],
    ['XSENDER 1', /^-ERR/],
    ['TOP 1 0', 'lines'],
    ['RETR 1', 'lines'],
    ['DELE 1', /^\+OK/],
    ['RSET', /^\+OK/],
    ['QUIT', /^\+OK/],
  ],
  'Outlook and Windows Mail': [
    ['CAPA', 'lines'],
    [`USER ${alice}`, /^\+OK/],
    ['PASS', /^\+OK/],
    ['STAT', /^\+OK 3 \d+$/],
    ['UIDL', 'lines'],
    ['LIST', 'lines'],
    ['RETR 2', 'lines'],
    ['QUIT', /^\+OK/],
  ],
  'JavaMail (Mirth Connect)': [
    ['CAPA', 'lines'],
    [`USER ${alice}`, /^\+OK/],
    ['PASS', /^\+OK/],
    ['CAPA', 'lines'],
    ['STAT', /^\+OK 3 /],
    ['NOOP', /^\+OK/],
    ['LIST 1', /^\+OK 1 \d+$/],
    ['UIDL 1', /^\+OK 1 \S+$/],
    ['TOP 1 0', 'lines'],
    ['RETR 1', 'lines'],
    ['QUIT', /^\+OK/],
  ],
  'fetchmail, getmail and poplib': [
    ['CAPA', 'lines'],
    [`user ${alice}`, /^\+OK/],
    ['PASS', /^\+OK/],
    ['LAST', /^-ERR/],
    ['STAT', /^\+OK 3 /],
    ['UIDL 3', /^\+OK 3 /],
    ['TOP 3 99999999', 'lines'],
    ['LIST 4', /^-ERR/],
    ['QUIT', /^\+OK/],
  ],
};

for (const [program, steps] of Object.entries(popPrograms))
  it(`POP3: ${program}`, async (t) => {
    const dialogue = endsWith(t, await world.open('pop3s'));
    assert.match((await dialogue.line()) ?? '', /^\+OK/);
    for (const [command, answer] of steps) {
      const sent = command === 'PASS' ? `PASS ${password}` : command === 'PLAIN' ? plain : command;
      dialogue.send(`${sent}\r\n`);
      const line = (await dialogue.line()) ?? 'ended';
      assert.match(line, answer === 'lines' ? /^\+OK/ : answer, command);
      if (answer === 'lines') while ((await dialogue.line()) !== '.');
    }
  });

const submissions: Readonly<Record<string, readonly (readonly [command: string, answer: RegExp])[]>> = {
  Thunderbird: [
    ['EHLO [192.168.1.5]', /^250/],
    ['AUTH PLAIN PLAIN', /^235/],
    [`MAIL FROM:<${alice}> BODY=8BITMIME SIZE=400`, /^250/],
    [`RCPT TO:<${bob}>`, /^250/],
    ['DATA', /^354/],
    ['MESSAGE', /^250/],
    ['QUIT', /^221/],
  ],
  Outlook: [
    ['EHLO DESKTOP-1', /^250/],
    ['AUTH LOGIN', /^334 VXNlcm5hbWU6/],
    ['USER', /^334 UGFzc3dvcmQ6/],
    ['PASS', /^235/],
    [`MAIL FROM: <${alice}>`, /^250/],
    [`RCPT TO: <${bob}>`, /^250/],
    ['DATA', /^354/],
    ['MESSAGE', /^250/],
    ['RSET', /^250/],
    ['QUIT', /^221/],
  ],
  'JavaMail (eCRNow, Mirth Connect, CONNECT)': [
    ['EHLO ecrnow', /^250/],
    ['AUTH LOGIN USER', /^334/],
    ['PASS', /^235/],
    ['NOOP', /^250/],
    [`MAIL FROM:<${alice}>`, /^250/],
    [`RCPT TO:<${bob}>`, /^250/],
    ['DATA', /^354/],
    ['MESSAGE', /^250/],
    ['QUIT', /^221/],
  ],
  'curl, smtplib and PHPMailer': [
    ['EHLO localhost', /^250/],
    ['AUTH PLAIN', /^334/],
    ['PLAIN', /^235/],
    ['VRFY x', /^25[02]/],
    [`mail FROM:<${alice}> size=400`, /^250/],
    [`rcpt TO:<${bob}>`, /^250/],
    ['data', /^354/],
    ['MESSAGE', /^250/],
    ['quit', /^221/],
  ],
};

for (const [program, steps] of Object.entries(submissions))
  it(`submission: ${program}`, async (t) => {
    const dialogue = endsWith(t, await world.open('smtps'));
    await dialogue.line();
    world.deliveries.splice(0);
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    for (const [command, answer] of steps) {
      dialogue.send(
        command === 'MESSAGE'
          ? `From: Alice <${alice}>\r\nTo: ${bob}\r\nSubject: ${program}\r\n\r\n..x\r\n.\r\n`
          : `${command
              .replace(/PLAIN$/, (word) => (command === 'AUTH PLAIN' ? word : plain))
              .replace(/USER$/, base64(alice))
              .replace(/PASS$/, base64(password))}\r\n`,
      );
      let line = await dialogue.line();
      while (line?.[3] === '-') line = await dialogue.line();
      assert.match(line ?? 'ended', answer, command);
    }
    assert.equal(world.deliveries.length, 1);
  });
