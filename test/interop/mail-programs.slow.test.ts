/** Mail programs as people have them, against our submission, IMAP and POP3. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { ImapFlow, type MessageStructureObject } from 'imapflow';
import { forgetAll, startTestEdges, type TestEdges } from '../edges/start-edges.ts';
import { alice, bob } from '../messaging/start-messaging.ts';
import { createSmtpClient } from '../../src/lib/smtp/index.ts';
import { startPostfix } from '../support/postfix.ts';
import { needsPrograms, needsRootAndPrograms, runProgram, waitUntil } from '../support/processes.ts';

let world: TestEdges;
let password: string;
let folder: string;
let caFile: string;
before(async () => {
  world = await startTestEdges();
  ({ password } = await world.createAccount());
  folder = await mkdtemp(path.join(tmpdir(), 'openhisp-mail-'));
  caFile = path.join(folder, 'ca.pem');
  await writeFile(caFile, world.ca);
});
after(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

let count = 0;
/** Puts a message into the mailbox; returns its octets. */
async function receive(): Promise<string> {
  const inner = [
    `From: ${bob}`,
    `To: ${alice}`,
    `Subject: message ${++count}`,
    `Message-ID: <${count}@beta.example>`,
    'Date: Sat, 21 Nov 2026 11:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    '',
    '.text',
    '--b',
    'Content-Type: text/xml; name=eICR.xml',
    '',
    '<a/>',
    '--b--',
    '',
  ].join('\r\n');
  await world.receive({ from: bob, to: [alice], inner });
  return inner;
}

async function run(program: string, args: readonly string[], input?: string): Promise<string> {
  const result = await runProgram(program, args, {
    timeoutMs: 60_000,
    // They keep what they know of a mailbox at home.
    env: { HOME: folder },
    ...(input === undefined ? {} : { input }),
  });
  assert.equal(result.status, 0, `${program}: ${result.stderr.toString()}`);
  return result.stdout.toString();
}

const mailsOf = async () => {
  const { mailboxes, accounts } = world.edges;
  return mailboxes.list({ accountId: (await accounts.get(alice)).accountId, name: 'INBOX' });
};

async function emptyMailbox(): Promise<void> {
  await forgetAll(world);
  await world.storage.tables<{ edge_mail: object }>().deleteFrom('edge_mail').execute();
}

const settings = () =>
  JSON.stringify({ user: alice, password, ca: caFile, to: bob, ports: world.running.ports });

const python = `
import imaplib, json, poplib, smtplib, ssl, sys
c = json.load(sys.stdin); p = c["ports"]; tls = ssl.create_default_context(cafile=c["ca"]); out = {}
def mail(n): return ("From: %s\\r\\nTo: %s\\r\\nSubject: by python\\r\\nMessage-ID: <%s@host.example>\\r\\n\\r\\nHi\\r\\n" % (c["user"], c["to"], n)).encode()
with smtplib.SMTP_SSL("localhost", p["smtps"], context=tls) as s:
    s.login(c["user"], c["password"]); s.sendmail(c["user"], [c["to"]], mail("one"))
with smtplib.SMTP("localhost", p["submission"]) as s:
    s.starttls(context=tls); s.login(c["user"], c["password"]); s.sendmail(c["user"], [c["to"]], mail("two"))
i = imaplib.IMAP4("localhost", p["imap"]); i.starttls(ssl_context=tls); i.login(c["user"], c["password"])
# As eCRNow does: the name in mixed case, unseen ones, structure, pieces of 16 kB, seen, deleted, close.
out["select"] = i.select("Inbox")[1][0].decode(); n = i.search(None, "UNSEEN")[1][0].split()[-1].decode()
i.fetch(n, "(BODY.PEEK[HEADER] ENVELOPE BODYSTRUCTURE)"); out["part"] = i.fetch(n, "(BODY[2]<0.16384>)")[1][0][1].decode()
i.store(n, "+FLAGS", "\\\\Seen"); out["seen"] = i.search(None, "SEEN")[1][0].decode(); out["whole"] = i.fetch(n, "(RFC822)")[1][0][1].decode()
q = poplib.POP3("localhost", p["pop3"]); q.stls(tls); q.user(c["user"]); q.pass_(c["password"])
out["pop"] = "\\r\\n".join(l.decode() for l in q.retr(int(q.stat()[0]))[1]) + "\\r\\n"; q.quit()
i.store(n, "+FLAGS", "\\\\Deleted"); i.close(); i.logout()
print(json.dumps(out))
`;

test("Python's smtplib, imaplib and poplib", needsPrograms('python3'), async () => {
  const whole = await receive();
  world.deliveries.splice(0);
  const out = JSON.parse(await run('python3', ['-c', python], settings())) as Record<string, string>;
  assert.deepEqual(
    world.deliveries.map(({ messageId }) => messageId),
    ['<one@host.example>', '<two@host.example>'],
  );
  assert.deepEqual(
    [out['select'], out['part'], out['seen'], out['whole'], out['pop']],
    ['1', '<a/>', '1', whole, whole],
  );
  assert.equal((await world.messaging.listInbox(world.clinic, {})).messages.length, 0);
});

test('curl by imaps, pop3s and smtps', needsPrograms('curl'), async () => {
  const whole = await receive();
  const { imaps, pop3s, smtps } = world.running.ports;
  const common = ['-sS', '--cacert', caFile, '-u', `${alice}:${password}`];
  assert.equal(await run('curl', [...common, `imaps://localhost:${imaps}/INBOX;MAILINDEX=1`]), whole);
  assert.match(await run('curl', [...common, `imaps://localhost:${imaps}/INBOX?ALL`]), /\* SEARCH 1/);
  assert.equal(await run('curl', [...common, `pop3s://localhost:${pop3s}/1`]), whole);
  world.deliveries.splice(0);
  const upload = ['--mail-from', alice, '--mail-rcpt', bob, '-T', '-'];
  await run(
    'curl',
    [...common, ...upload, `smtps://localhost:${smtps}`],
    `From: ${alice}\r\nTo: ${bob}\r\n\r\nHi\r\n`,
  );
  assert.equal(world.deliveries.length, 1);
});

test('a Postfix hands on by submission what its clinic sends', needsRootAndPrograms('postfix'), async (t) => {
  const { submission = 0 } = world.running.ports;
  const postfix = await startPostfix({
    relayPort: submission,
    settings: [
      'smtp_sasl_auth_enable = yes',
      `smtp_sasl_password_maps = inline:{ { [127.0.0.1]:${submission} = ${alice}:${password} } }`,
      'smtp_sasl_security_options = noanonymous',
      'smtp_tls_security_level = encrypt',
      // As Postfix before 2.9 always did.
      'smtp_send_dummy_mail_auth = yes',
    ],
  });
  t.after(() => postfix.stop());
  const before = world.deliveries.length;
  const client = createSmtpClient({ hostname: 'ehr.clinic.example' });
  t.after(() => client.close());
  const message = Buffer.from(`From: ${alice}\r\nTo: ${bob}\r\nSubject: by Postfix\r\n\r\nHello\r\n`);
  await client.send({ host: '127.0.0.1', port: postfix.port, mailFrom: alice, recipients: [bob], message });
  await waitUntil(() => world.deliveries.length > before, {
    timeoutMs: 30_000,
    what: `the message:\n${postfix.output().slice(-2_000)}`,
  });
  assert.match(Buffer.from(world.deliveries.at(-1)?.message ?? '').toString(), /Subject: by Postfix/);
});

test('mbsync keeps a copy, and takes what was deleted there away here', needsPrograms('mbsync'), async () => {
  const whole = await receive();
  const mail = path.join(folder, 'mbsync');
  await mkdir(mail);
  const config = path.join(folder, 'mbsyncrc');
  await writeFile(
    config,
    `IMAPAccount a\nHost localhost\nPort ${world.running.ports.imaps}\nUser ${alice}\nPass "${password}"\nSSLType IMAPS\nCertificateFile ${caFile}\n\nIMAPStore far\nAccount a\n\nMaildirStore near\nPath ${mail}/\nInbox ${mail}/INBOX\n\nChannel c\nFar :far:\nNear :near:\nPatterns INBOX\nCreate Near\nExpunge Both\nSync All\n`,
  );
  const sync = () => run('mbsync', ['-c', config, 'c']);
  await sync();
  const files = async (): Promise<string[]> =>
    (
      await Promise.all(
        ['new', 'cur'].map(async (sub) =>
          (await readdir(path.join(mail, 'INBOX', sub))).map((name) => path.join(mail, 'INBOX', sub, name)),
        ),
      )
    ).flat();
  const found = await files();
  const texts = await Promise.all(found.map((file) => readFile(file, 'utf8')));
  const isOurs = (text: string): boolean =>
    text.replace(/^X-TUID:.*\n/m, '').replaceAll('\n', '\r\n') === whole;
  assert.ok(texts.some(isOurs), texts.join('\n---\n'));
  await rm(found[texts.findIndex(isOurs)] ?? '');
  await sync();
  await sync();
  assert.equal((await files()).length, found.length - 1);
});

test('fetchmail takes what is new by IMAP and POP3 and hands it on', needsPrograms('fetchmail'), async () => {
  for (const [protocol, port] of [
    ['IMAP', world.running.ports.imaps],
    ['POP3', world.running.ports.pop3s],
  ] as const) {
    await receive();
    const taken = path.join(folder, `taken-${protocol}`);
    const config = path.join(folder, 'fetchmailrc');
    await writeFile(
      config,
      `poll localhost protocol ${protocol} service ${port} username "${alice}" password "${password}" ssl sslcertck sslcertfile "${caFile}" mda "cat >> ${taken}" no keep fetchall\n`,
      { mode: 0o600 },
    );
    const args = ['--nodetach', '--nosyslog', '--fetchmailrc', config, '--pidfile', path.join(folder, 'pid')];
    await run('fetchmail', args);
    assert.match(await readFile(taken, 'utf8'), new RegExp(`Subject: message ${count}\\b`));
    assert.equal((await mailsOf()).length, 0);
  }
});

const jars = ['/usr/share/java/javax.mail.jar', '/usr/share/java/javax.activation.jar'];
const java = `
import java.io.*; import java.util.*; import javax.mail.*; import javax.mail.internet.*; import javax.mail.search.*; import javax.activation.*; import javax.mail.util.*;
public class Ecr { public static void main(String[] a) throws Exception {
  String user = a[0], password = a[1], to = a[2], smtps = a[3], imaps = a[4];
  Properties p = new Properties();
  p.put("mail.smtp.auth", "true"); p.put("mail.smtp.ssl.enable", "true"); p.put("mail.smtp.ssl.trust", "*"); p.put("mail.smtp.port", smtps);
  p.put("mail.imap.ssl.enable", "true"); p.put("mail.imap.ssl.trust", "*"); p.put("mail.store.protocol", "imap");
  Session session = Session.getInstance(p);
  MimeMessage m = new MimeMessage(session) { protected void updateMessageID() throws MessagingException { setHeader("Message-ID", "<correlation-1@localhost>"); } };
  m.setFrom(new InternetAddress(user)); m.addRecipients(Message.RecipientType.TO, to); m.setSubject("eICR Report ");
  MimeBodyPart part = new MimeBodyPart(); part.setDataHandler(new DataHandler(new ByteArrayDataSource("<eicr/>".getBytes("UTF-8"), "application/xml"))); part.setFileName("eICR_Report.xml");
  m.setContent(new MimeMultipart(part));
  Transport t = session.getTransport("smtp"); t.connect("localhost", user, password); m.saveChanges(); t.sendMessage(m, m.getAllRecipients()); t.close();
  Store store = session.getStore("imap"); store.connect("localhost", Integer.parseInt(imaps), user, password);
  Folder inbox = store.getFolder("Inbox"); System.out.println("exists " + inbox.exists()); inbox.open(Folder.READ_WRITE);
  Message[] unseen = inbox.search(new FlagTerm(new Flags(Flags.Flag.SEEN), false)); System.out.println("unseen " + unseen.length);
  FetchProfile profile = new FetchProfile(); profile.add(FetchProfile.Item.ENVELOPE); profile.add(FetchProfile.Item.CONTENT_INFO); profile.add(FetchProfile.Item.FLAGS); profile.add(UIDFolder.FetchProfileItem.UID);
  inbox.fetch(unseen, profile);
  for (Message one : unseen) {
    for (Enumeration<Header> all = one.getAllHeaders(); all.hasMoreElements();) all.nextElement();
    if (!(one.getContent() instanceof Multipart)) { System.out.println("single " + one.getSubject()); continue; }
    Multipart parts = (Multipart) one.getContent();
    for (int i = 0; i < parts.getCount(); i++) {
      BodyPart body = parts.getBodyPart(i); String name = body.getFileName();
      if (name == null || !name.contains(".xml")) continue;
      ByteArrayOutputStream out = new ByteArrayOutputStream(); body.getInputStream().transferTo(out); System.out.println("xml " + name + " " + body.getSize() + " " + out.toString("UTF-8"));
    }
    one.setFlag(Flags.Flag.SEEN, true);
  }
  Message[] seen = inbox.search(new FlagTerm(new Flags(Flags.Flag.SEEN), true)); System.out.println("seen " + seen.length);
  System.out.println("charset " + inbox.search(new SubjectTerm("\\u00fc")).length);
  for (Message one : seen) one.setFlag(Flags.Flag.DELETED, true);
  inbox.close(true); inbox.open(Folder.READ_ONLY); System.out.println("left " + inbox.getMessageCount()); inbox.close(false); store.close();
} }
`;

const needsJavaMail = (): { skip: string | false } => {
  const { skip } = needsPrograms('java', 'javac');
  if (skip !== false) return { skip };
  return { skip: jars.every((jar) => existsSync(jar)) ? false : `not installed here: ${jars.join(', ')}` };
};

test('JavaMail by the commands of eCRNow', needsJavaMail(), async () => {
  await emptyMailbox();
  await receive();
  const source = path.join(folder, 'Ecr.java');
  await writeFile(source, java);
  world.deliveries.splice(0);
  const { smtps, imaps } = world.running.ports;
  const out = await run('java', [
    '-cp',
    jars.join(':'),
    source,
    alice,
    password,
    bob,
    String(smtps),
    String(imaps),
  ]);
  assert.deepEqual(out.trim().split('\n'), [
    'exists true',
    'unseen 1',
    'xml eICR.xml 4 <a/>',
    'seen 1',
    'charset 0',
    'left 0',
  ]);
  const [sent] = world.deliveries;
  assert.equal(sent?.messageId, '<correlation-1@localhost>');
  assert.match(Buffer.from(sent?.message ?? '').toString(), /filename="?eICR_Report\.xml/);
});

test('getmail takes what is new by IMAP and POP3', needsPrograms('getmail'), async () => {
  for (const [kind, port] of [
    ['IMAP', world.running.ports.imaps],
    ['POP3', world.running.ports.pop3s],
  ] as const) {
    await emptyMailbox();
    await receive();
    const home = await mkdtemp(path.join(folder, 'getmail-'));
    const taken = path.join(home, 'taken');
    await writeFile(taken, '');
    await writeFile(
      path.join(home, 'getmailrc'),
      `[retriever]\ntype = Simple${kind}SSLRetriever\nserver = localhost\nport = ${port}\nusername = ${alice}\npassword = ${password}\nca_certs = ${caFile}\n[destination]\ntype = MDA_external\npath = /usr/bin/tee\narguments = ("-a", "${taken}")\nallow_root_commands = true\n[options]\ndelete = true\nread_all = true\n`,
    );
    await run('getmail', ['--getmaildir', home, '--rcfile', 'getmailrc']);
    assert.match(await readFile(taken, 'utf8'), new RegExp(`Subject: message ${count}\\b`));
    assert.equal((await mailsOf()).length, 0);
  }
});

test('neomutt shows and deletes mail, and sends', needsPrograms('neomutt', 'script'), async () => {
  await emptyMailbox();
  await receive();
  const { imaps, smtps } = world.running.ports;
  const shown = path.join(folder, 'shown');
  const rc = path.join(folder, 'muttrc');
  await writeFile(
    rc,
    `set folder="imaps://localhost:${imaps}/"\nset spoolfile="+INBOX"\nset imap_user="${alice}"\nset imap_pass="${password}"\nset smtp_url="smtps://${alice}@localhost:${smtps}"\nset smtp_pass="${password}"\nset ssl_ca_certificates_file="${caFile}"\nset certificate_file="${caFile}"\nset from="${alice}"\nset use_from=yes\nset envelope_from_address="${alice}"\nset use_envelope_from=yes\nset copy=no\nset record=""\nset wait_key=no\nset quit=yes\nset delete=yes\nset header_cache=""\nset sleep_time=0\nset ssl_starttls=no\n`,
  );
  const keys = `push '<first-entry><pipe-message>cat >${shown}<enter><delete-message><sync-mailbox><quit>'`;
  const command = `neomutt -n -F ${rc} -e "${keys}"`;
  await runProgram('script', ['-qec', command, '/dev/null'], {
    timeoutMs: 60_000,
    env: { HOME: folder, TERM: 'xterm' },
  });
  assert.match(await readFile(shown, 'utf8'), new RegExp(`Subject: message ${count}\\b`));
  assert.equal((await mailsOf()).length, 0);
  world.deliveries.splice(0);
  // It stores what it has sent, and stops with an error if it cannot.
  const storing = ['-e', 'set copy=yes record="+Sent"'];
  await run('neomutt', ['-n', '-F', rc, ...storing, '-s', 'by neomutt', '--', bob], 'Hello\n');
  assert.equal(world.deliveries.length, 1);
  const { accountId } = await world.edges.accounts.get(alice);
  const sent = await world.edges.mailboxes.list({ accountId, name: 'Sent' });
  const [last] = await world.db.selectFrom('message').select('id').orderBy('created_at', 'desc').execute();
  assert.equal(sent.filter(({ sentId }) => sentId === last?.id).length, 1);
});

/** Paths of an IMAP structure with their media types, as `1 text/plain`. */
const partsOf = ({ part = '', type, childNodes = [] }: MessageStructureObject): readonly string[] => [
  `${part} ${type}`.trim(),
  ...childNodes.flatMap(partsOf),
];

test('imapflow lists, fetches by parts, flags, searches, waits, moves and deletes', async (t) => {
  await emptyMailbox();
  const whole = await receive();
  const client = new ImapFlow({
    host: 'localhost',
    port: world.running.ports.imaps ?? 0,
    secure: true,
    auth: { user: alice, pass: password },
    tls: { ca: world.ca },
    logger: false,
  });
  client.on('error', () => {});
  t.after(() => client.close());
  await client.connect();
  const list = await client.list();
  assert.deepEqual(
    list.map(({ path: name, specialUse }) => [name, specialUse]),
    [
      ['INBOX', '\\Inbox'],
      ['Sent', '\\Sent'],
      ['Trash', '\\Trash'],
    ],
  );
  const inbox = await client.mailboxOpen('INBOX');
  assert.deepEqual([inbox.exists, inbox.readOnly], [1, false]);
  const unseen = await client.status('INBOX', { unseen: true });
  assert.equal(unseen !== false && unseen.unseen, 1);

  // Another session puts one more into the mailbox while this one waits.
  const waited = new Promise<number>((resolve) =>
    client.once('exists', (event) => resolve((event as { readonly count: number }).count)),
  );
  const idle = client.idle();
  await receive();
  assert.equal(await waited, 2);
  await client.noop();
  await idle;

  const first = await client.fetchOne('1', {
    uid: true,
    flags: true,
    size: true,
    envelope: true,
    bodyStructure: true,
    headers: ['message-id'],
    bodyParts: ['1', { key: '2', start: 1, maxLength: 2 }],
  });
  assert.ok(first !== false && first.envelope !== undefined && first.bodyStructure !== undefined);
  assert.deepEqual(
    [first.size, first.envelope.subject, first.envelope.from?.[0]?.address, first.envelope.date],
    [whole.length, `message ${count - 1}`, bob, new Date('2026-11-21T11:00:00Z')],
  );
  assert.deepEqual(partsOf(first.bodyStructure), ['multipart/mixed', '1 text/plain', '2 text/xml']);
  assert.deepEqual(
    [...(first.bodyParts ?? [])].map(([key, part]) => [key, part.toString()]),
    [
      ['1', '.text'],
      ['2', 'a/'],
    ],
  );
  assert.deepEqual([...(first.flags ?? [])], []);
  const { content } = await client.download('1');
  assert.ok(content !== undefined);
  assert.equal(await text(content), whole);
  // It looks at messages without marking them.
  assert.deepEqual(await client.search({ seen: true }), []);
  await client.messageFlagsAdd('1', ['\\Seen', '\\Flagged']);
  await client.messageFlagsRemove('1', ['\\Flagged']);
  assert.deepEqual(await client.search({ seen: true, flagged: false, header: { subject: 'message' } }), [1]);
  assert.deepEqual(await client.search({ or: [{ subject: `message ${count}` }, { body: 'nowhere' }] }), [2]);

  const moved = await client.messageMove('1', 'Trash');
  assert.ok(moved !== false && moved.uidMap?.size === 1);
  await client.messageDelete('1');
  assert.equal((await client.fetchAll('1:*', { uid: true })).length, 0);
  const trash = await client.mailboxOpen('Trash');
  assert.equal(trash.exists, 1);
  assert.deepEqual(await client.search({ uid: String(moved.uidMap.get(first.uid)) }), [1]);
  await client.logout();
  assert.equal((await mailsOf()).length, 0);
});
