/** A disk that is full, under clients of every edge: nothing is lost, and nobody is told what is not so. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { endsWith, openDialogue, type Dialogue } from '../edges/start-edges.ts';
import { startEdgeWorld, submit, type Side } from '../processes/edge-kills.ts';
import { edgePassword } from '../processes/hisp-process-edges.ts';
import { prepareFaults, whyNoFaults } from '../support/faults.ts';
import { waitUntil } from '../support/processes.ts';
import { isPostgres } from '../support/storage.ts';

type Edge = keyof Side['ports'];

async function open(t: TestContext, { ports, ca }: Side, edge: Edge): Promise<Dialogue> {
  const dialogue = endsWith(t, await openDialogue(ports[edge], ca));
  if (edge !== 'line') await dialogue.line();
  return dialogue;
}

async function openSmtp(t: TestContext, side: Side): Promise<Dialogue> {
  const dialogue = await open(t, side, 'smtps');
  for (let line = await dialogue.ask('EHLO client.example'); line?.[3] === '-';) line = await dialogue.line();
  const plain = Buffer.from(`\0${side.address}\0${edgePassword}`).toString('base64');
  assert.match((await dialogue.ask(`AUTH PLAIN ${plain}`)) ?? '', /^235/);
  return dialogue;
}

/** The last answer. */
async function sendBySmtp(dialogue: Dialogue, from: string, to: string): Promise<string> {
  for (const command of [`MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, 'DATA']) {
    const answer = (await dialogue.ask(command)) ?? 'ended';
    if (!/^[23]/.test(answer)) return answer;
  }
  return (await dialogue.ask(`From: ${from}\r\nTo: ${to}\r\n\r\nHello\r\n.\r`)) ?? 'ended';
}

async function openPop3(t: TestContext, side: Side): Promise<Dialogue> {
  const dialogue = await open(t, side, 'pop3s');
  await dialogue.ask(`USER ${side.address}`);
  assert.match((await dialogue.ask(`PASS ${edgePassword}`)) ?? '', /^\+OK/);
  return dialogue;
}

async function openImap(t: TestContext, side: Side): Promise<Dialogue> {
  const dialogue = await open(t, side, 'imaps');
  assert.match((await dialogue.imap(`LOGIN ${side.address} "${edgePassword}"`)).result, /^OK/);
  return dialogue;
}

test(
  'a full disk: what cannot be stored is refused for now on each edge, and goes once there is room',
  { skip: isPostgres ? 'its HISPs are on SQLite' : (whyNoFaults() ?? false) },
  async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-edge-disk-'));
    const faults = prepareFaults(path.join(folder, 'faults'), path.join(folder, 'sender'));
    const { world, ca, edgePorts } = await startEdgeWorld(folder, {
      env: (who) => (who === 'sender' ? faults.env : {}),
      // The fault itself is tested, not the guard in front of it.
      settings: () => ({ 'admission.minFreeDiskBytes': '0' }),
    });
    t.after(async () => {
      faults.setDisk('well');
      await world.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    const side: Side = { ports: edgePorts.sender, address: world.sender.party.address, ca };
    const far: Side = { ports: edgePorts.receiver, address: world.receiver.party.address, ca };
    for (let number = 1; number <= 4; number++)
      assert.ok(await submit(far, side.address, `mail-${number}-x`));
    const imap = await openImap(t, side);
    await waitUntil(async () => (await imap.imap('SELECT INBOX')).untagged.includes('* 4 EXISTS'), {
      what: 'four messages',
      timeoutMs: 60_000,
    });
    const [line, pop3, smtp] = [
      await open(t, side, 'line'),
      await openPop3(t, side),
      await openSmtp(t, side),
    ];
    assert.equal(await line.ask(`AUTH ${side.address} ${edgePassword}`), 'OK');
    assert.match((await line.ask('CHECK')) ?? '', /^MAIL/);
    const write = async (): Promise<void> => {
      await line.ask(`TO ${far.address}`);
      await line.line();
      assert.equal(await line.ask('TEXT 5'), 'BEGIN');
      line.send('Hello');
      assert.equal(await line.line(), 'OK');
    };
    await write();

    faults.setDisk('full');
    for (const command of ['SEND', 'DONE', 'CHECK'])
      assert.match((await line.ask(command)) ?? `${command}: ended`, /^ERROR .{10,}/);
    assert.match(await sendBySmtp(smtp, side.address, far.address), /^4\d\d /);
    for (const command of ['STORE 2 +FLAGS (\\Deleted)', 'MOVE 2 Trash'])
      assert.match((await imap.imap(command)).result, /^NO \[UNAVAILABLE\]/, command);
    assert.match((await imap.imap('FETCH 2 (FLAGS)')).untagged[0] ?? '', /^\* 2 FETCH \(FLAGS \(\)\)/);
    assert.match((await imap.imap('EXPUNGE')).result, /^(OK|NO \[UNAVAILABLE\])/);
    // Each answer belongs to its command still, whatever became of a message that was asked for.
    const given = (await pop3.ask('RETR 3')) ?? 'ended';
    if (given.startsWith('+OK')) while ((await pop3.line()) !== '.');
    assert.match((await pop3.ask('STAT')) ?? '', /^\+OK 4 /);
    assert.match((await pop3.ask('DELE 4')) ?? '', /^\+OK/);
    assert.match((await pop3.ask('QUIT')) ?? '', /^-ERR/);
    const quitAt = performance.now();
    assert.equal(await pop3.line(), undefined);
    assert.ok(performance.now() - quitAt < 10_000);
    faults.setDisk('well');

    // A refused draft is gone, so that repeating it doubles nothing. What could not be removed is there still.
    assert.match((await line.ask('SEND')) ?? '', /^ERROR/);
    await write();
    assert.match((await line.ask('SEND')) ?? '', /^QUEUED/);
    assert.match((await line.ask('CHECK')) ?? '', /^MAIL/);
    assert.equal(await line.ask('DONE'), 'OK');
    const { untagged } = await imap.imap('FETCH 1:* (FLAGS)');
    assert.equal(untagged.filter((one) => one.includes('Deleted')).length, 0);
    assert.match((await imap.imap('STORE 2 +FLAGS (\\Deleted)')).result, /^OK/);
    assert.match((await imap.imap('EXPUNGE')).result, /^OK/);
    const again = await openPop3(t, side);
    assert.match((await again.ask('DELE 3')) ?? '', /^\+OK/);
    assert.match((await again.ask('QUIT')) ?? '', /^\+OK/);
    assert.match(await sendBySmtp(await openSmtp(t, side), side.address, far.address), /^250/);
    await imap.imap('NOOP');
    const left = (await imap.imap('UID SEARCH SUBJECT mail-')).untagged;
    assert.match(left[0] ?? '', /^\* SEARCH( \d+){2}$/);
    // Both that were accepted arrive, and what was refused does not.
    const farImap = await openImap(t, far);
    const arrived = async (): Promise<string> => {
      await farImap.imap('SELECT INBOX');
      return (await farImap.imap('SEARCH BODY Hello')).untagged[0] ?? '';
    };
    await waitUntil(async () => /( \d+){2}$/.test(await arrived()), { what: 'both', timeoutMs: 60_000 });
    assert.match(await arrived(), /^\* SEARCH( \d+){2}$/);
  },
);
