import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { createDnsServer, createStaticZone, type DnsServer } from '../../lib/dns/index.ts';
import {
  createAuthority,
  createKeyPair,
  formatPem,
  issueDirectCertificate,
  type Certificate,
} from '../../lib/pki/index.ts';
import { encryptEntity, signEntity, type SigningKey } from '../../lib/smime/index.ts';
import { parseDirectAddress } from '../../lib/values/index.ts';
import { createProgram } from './create-program.ts';
import type { CliContext } from './context.ts';

const alice = parseDirectAddress('alice@direct.alpha.example');
const bob = parseDirectAddress('bob@direct.beta.example');
const plain = `From: ${alice}\r\nTo: ${bob}, carol@direct.beta.example\r\nSubject: x\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000\r\nMessage-ID: <1@direct.alpha.example>\r\nMIME-Version: 1.0\r\n\r\nHello\r\n`;

const root = path.resolve(import.meta.dirname, '../../..');

describe('agent commands', () => {
  let folder: string;
  let bobCertificate: Certificate;
  let eveCertificate: Certificate;
  let aliceKey: SigningKey;
  const file = (name: string): string => path.join(folder, name);

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'openhisp-agent-'));
    const [caKeys, keys] = await Promise.all([createKeyPair({ curve: 'P-256' }), createKeyPair()]);
    const validity = {
      notBefore: new Date(Date.now() - 3_600_000),
      notAfter: new Date(Date.now() + 86_400_000),
    };
    const ca = createAuthority({ subject: [['CN', 'ca']], ...caKeys, ...validity });
    const issuer = { certificate: ca, privateKey: caKeys.privateKey };
    const issue = (address: typeof alice) =>
      issueDirectCertificate({ boundTo: { address }, publicKey: keys.publicKey, issuer, ...validity });
    bobCertificate = issue(bob);
    await writeFile(file('ca.pem'), formatPem('CERTIFICATE', ca.der));
    await writeFile(file('alice.pem'), formatPem('CERTIFICATE', issue(alice).der));
    await writeFile(file('bob.pem'), formatPem('CERTIFICATE', bobCertificate.der));
    const old = issueDirectCertificate({
      boundTo: { address: alice },
      publicKey: keys.publicKey,
      issuer,
      notBefore: new Date(Date.now() - 3_600_000),
      notAfter: new Date(Date.now() - 60_000),
    });
    aliceKey = { certificate: issue(alice), privateKey: keys.privateKey };
    eveCertificate = issue(parseDirectAddress('eve@direct.beta.example'));
    await writeFile(file('old.pem'), formatPem('CERTIFICATE', old.der));
    await writeFile(file('eve.pem'), formatPem('CERTIFICATE', eveCertificate.der));
    await writeFile(file('key.pem'), keys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await writeFile(file('plain.eml'), plain);
  });
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

  async function run(...args: string[]): Promise<{ answer: Record<string, unknown>; exitCode: number }> {
    const lines: string[] = [];
    let exitCode = 0;
    const context: Pick<CliContext, 'print' | 'setExitCode' | 'setLossExitCode'> = {
      print: (text) => void lines.push(text),
      setExitCode: (code) => (exitCode = code),
      setLossExitCode: () => {},
    };
    const program = await createProgram(context as CliContext, {}, 'agent');
    await program.parseAsync(['agent', ...args], { from: 'user' });
    assert.equal(lines.length, 1);
    return { answer: JSON.parse(lines[0] ?? '') as Record<string, unknown>, exitCode };
  }

  /** Words of a command line, the names of files with their folder. */
  const inFolder = (line: string): string[] =>
    line.split(' ').map((word) => (/\.(?:pem|eml)$/.test(word) ? file(word) : word));

  const sealing = (...more: string[]) =>
    run(
      'seal',
      '--in',
      file('plain.eml'),
      '--key',
      file('key.pem'),
      '--cert',
      file('alice.pem'),
      '--recipient-cert',
      file('bob.pem'),
      '--out',
      file('sealed.eml'),
      ...more,
    );
  const opening = (...more: string[]) =>
    run('open', '--in', file('sealed.eml'), '--key', file('key.pem'), '--cert', file('bob.pem'), ...more);

  test('seal reports the outcome of each recipient, open returns the message', async () => {
    const sealed = await sealing('--anchor', file('ca.pem'));
    assert.equal(sealed.exitCode, 0);
    assert.deepEqual(sealed.answer['recipients'], [
      { address: bob, outcome: 'usable', reason: null, certificates: [bobCertificate.fingerprint] },
      {
        address: 'carol@direct.beta.example',
        outcome: 'refused',
        reason: 'DIRECT_RECIPIENT_CERTIFICATE_MISSING',
        text: 'none of the certificates is bound to the address',
        certificates: [],
      },
    ]);
    const opened = await opening(
      '--anchor',
      file('ca.pem'),
      '--rcpt',
      bob,
      '--mail-from',
      alice,
      '--out',
      file('opened.eml'),
    );
    assert.deepEqual(
      [opened.exitCode, opened.answer['verdict'], opened.answer['sender']],
      [0, 'accept', alice],
    );
    assert.equal(await readFile(file('opened.eml'), 'utf8'), plain);
  });

  test('a refusal is an answer with its reason and exit code 1', async () => {
    await sealing('--anchor', file('ca.pem'));
    const reasonOf = async (...more: string[]) => {
      const { answer, exitCode } = await opening(...more);
      assert.deepEqual([answer['verdict'], exitCode], ['reject', 1]);
      return answer['reason'];
    };
    assert.equal(await reasonOf(), 'PKI_NO_ANCHORS');
    const { answer } = await opening();
    assert.deepEqual((answer['signers'] as { boundTo: string[] }[])[0]?.boundTo, [alice]);
    assert.equal(
      await reasonOf('--anchor', file('ca.pem'), '--rcpt', 'dan@direct.beta.example'),
      'SMIME_NO_RECIPIENT_KEY',
    );
    assert.equal(
      await reasonOf('--anchor', file('ca.pem'), '--rcpt', bob, '--rcpt', 'dan@direct.beta.example'),
      'DIRECT_ENVELOPE_RECIPIENT_MISMATCH',
    );
    assert.equal(await reasonOf('--anchor', file('ca.pem'), '--at', '2040-01-01'), 'PKI_EXPIRED');
    assert.equal(await reasonOf('--anchor', file('ca.pem'), '--hard-fail'), 'PKI_REVOCATION_UNCHECKABLE');
  });

  test('AS-83 open uses no key whose certificate is not bound to the recipient', async () => {
    const message = encryptEntity(
      signEntity(Buffer.from(`Content-Type: message/rfc822\r\n\r\n${plain}`), [aliceKey], { at: new Date() }),
      [{ certificate: eveCertificate }],
    );
    await writeFile(file('foreign.eml'), message);
    for (const more of [[], ['--rcpt', bob]]) {
      const words = inFolder('open --in foreign.eml --key key.pem --cert eve.pem --anchor ca.pem');
      const { answer, exitCode } = await run(...words, ...more);
      assert.deepEqual([exitCode, answer['code']], [1, 'DIRECT_UNKNOWN_RECIPIENT']);
    }
  });

  test('AS-15 seal refuses an expired certificate, and signs with the other where there is one', async () => {
    const anchor = ['--anchor', file('ca.pem')];
    const words = `seal --in plain.eml --key key.pem --cert old.pem --recipient-cert bob.pem --out old.eml --anchor ca.pem`;
    const { answer, exitCode } = await run(...inFolder(words));
    assert.deepEqual([exitCode, answer['reason']], [1, 'PKI_EXPIRED']);
    assert.equal((answer['recipients'] as { address: string }[])[0]?.address, bob);
    await assert.rejects(readFile(file('old.eml')));
    const sealed = await sealing(...anchor, '--key', file('key.pem'), '--cert', file('old.pem'));
    assert.equal(sealed.exitCode, 0);
    const opened = await opening(...anchor);
    assert.deepEqual([opened.exitCode, opened.answer['signerCount']], [0, 1]);
  });

  test('every reason is of a documented family', async () => {
    await writeFile(file('long.eml'), `${'X: y\r\n'.repeat(5_000)}\r\n`);
    await writeFile(
      file('truncated.eml'),
      'Content-Type: application/pkcs7-mime\r\nContent-Transfer-Encoding: base64\r\n\r\nMIIBAA==\r\n',
    );
    const key = ['--key', file('key.pem'), '--cert', file('alice.pem')];
    const answers = await Promise.all([
      opening('--rcpt', 'no address'),
      run('mdn', 'make', '--final-recipient', 'x', '--original-sender', alice),
      run('mdn', 'read', '--in', file('long.eml')),
      run('discover', 'nobody'),
      run('open', '--in', file('truncated.eml'), ...key),
      run('open', '--in', file('long.eml'), ...key),
      run('seal', '--in', file('long.eml'), ...key, '--recipient-cert', file('bob.pem'), '--out', file('x')),
      run('open', '--in', file('plain.eml'), '--key', file('plain.eml'), '--cert', file('bob.pem')),
    ]);
    assert.deepEqual(
      answers.map(({ answer }) => `${String(answer['verdict'])} ${String(answer['reason'])}`),
      [
        'error AGENT_OPTION_INVALID',
        'error AGENT_OPTION_INVALID',
        'error AGENT_MESSAGE_UNREADABLE',
        'error AGENT_OPTION_INVALID',
        'reject SMIME_CMS_MALFORMED',
        'reject DIRECT_MESSAGE_MALFORMED',
        'reject DIRECT_MESSAGE_MALFORMED',
        'error PKI_KEY_MALFORMED',
      ],
    );
  });

  test('seal without a trusted recipient writes nothing', async () => {
    await rm(file('sealed.eml'), { force: true });
    const { answer, exitCode } = await sealing();
    assert.deepEqual(
      [answer['verdict'], answer['reason'], exitCode],
      ['reject', 'DIRECT_NO_TRUSTED_RECIPIENTS', 1],
    );
    await assert.rejects(readFile(file('sealed.eml')));
  });

  test('exits with 2 if the attempt was not possible', async () => {
    const missing = await run(
      'open',
      '--in',
      file('none.eml'),
      '--key',
      file('key.pem'),
      '--cert',
      file('bob.pem'),
    );
    assert.deepEqual(
      [missing.answer['verdict'], missing.answer['reason'], missing.exitCode],
      ['error', 'ENOENT', 2],
    );
    const noKey = await run(
      'open',
      '--in',
      file('plain.eml'),
      '--key',
      file('bob.pem'),
      '--cert',
      file('bob.pem'),
    );
    assert.deepEqual([noKey.answer['reason'], noKey.exitCode], ['PKI_KEY_MALFORMED', 2]);
    const unpaired = await run(
      'open',
      '--in',
      file('plain.eml'),
      '--key',
      file('key.pem'),
      '--cert',
      file('bob.pem'),
      '--cert',
      file('bob.pem'),
    );
    assert.equal(unpaired.answer['reason'], 'AGENT_KEYS_UNPAIRED');
  });

  test('wrong words are answered with exit code 2, help is none', () => {
    const runProgram = (...words: string[]) =>
      spawnSync(process.execPath, [path.join(root, 'bin/openhisp.js'), 'agent', ...words], {
        encoding: 'utf8',
      });
    for (const words of [['opne'], ['open', '--bogus'], ['mdn', 'bogus']]) {
      const { status, stdout } = runProgram(...words);
      const { verdict, reason } = JSON.parse(stdout) as Record<string, unknown>;
      assert.deepEqual([status, verdict, reason], [2, 'error', 'AGENT_ARGUMENTS_INVALID'], words.join(' '));
    }
    const bare = runProgram();
    assert.deepEqual([bare.status, bare.stdout], [2, '']);
    const help = runProgram('open', '--help');
    assert.equal(help.status, 0);
    assert.match(help.stdout, /^Usage: openhisp agent open/);
  });

  test('discover shows every step and the decision', async () => {
    const data = { certificateType: 1, keyTag: 0, algorithm: 0, data: bobCertificate.der };
    const zone = createStaticZone('beta.example', [
      {
        name: 'beta.example',
        type: 'SOA',
        ttlSeconds: 60,
        data: {
          primaryServer: 'ns.beta.example',
          mailbox: 'h.beta.example',
          serial: 1,
          refreshSeconds: 1,
          retrySeconds: 1,
          expireSeconds: 1,
          minimumSeconds: 1,
        },
      },
      { name: 'bob.direct.beta.example', type: 'CERT', ttlSeconds: 60, data },
    ]);
    const server: DnsServer = await createDnsServer({ host: '127.0.0.1', port: 0, zones: () => [zone] });
    try {
      const found = await run(
        'discover',
        bob,
        '--dns',
        `127.0.0.1:${server.port}`,
        '--anchor',
        file('ca.pem'),
      );
      assert.deepEqual(
        [found.answer['verdict'], found.answer['source'], found.exitCode],
        ['accept', 'dns-address', 0],
      );
      const absent = await run(
        'discover',
        'carol@direct.beta.example',
        '--dns',
        `127.0.0.1:${server.port}`,
        '--anchor',
        file('ca.pem'),
      );
      assert.equal(absent.answer['reason'], 'DIRECT_RECIPIENT_CERTIFICATE_MISSING');
      assert.deepEqual(
        (absent.answer['steps'] as { source: string; outcome: string }[]).map(
          ({ source, outcome }) => `${source} ${outcome}`,
        ),
        ['dns-address absent', 'dns-domain absent', 'ldap-address absent', 'ldap-domain absent'],
      );
    } finally {
      await server.close();
    }
  });

  test('with --stdin one array of arguments a line in, one object a line out, in order', async () => {
    await sealing('--anchor', file('ca.pem'));
    const open = ['open', '--in', file('sealed.eml'), '--key', file('key.pem'), '--cert', file('bob.pem')];
    const lines = [[...open, '--anchor', file('ca.pem')], open, ['open'], ['agent', ...open]].map((line) =>
      JSON.stringify(line),
    );
    const child = spawn(process.execPath, [path.join(root, 'bin/openhisp.js'), 'agent', '--stdin'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.end(`${lines.join('\n')}\nno json\n`);
    const output = await text(child.stdout);
    const answers = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { verdict: string; reason: string | null });
    assert.deepEqual(
      answers.map(({ verdict, reason }) => `${verdict} ${reason}`),
      [
        'accept null',
        'reject PKI_NO_ANCHORS',
        'error AGENT_ARGUMENTS_INVALID',
        'reject PKI_NO_ANCHORS',
        'error AGENT_ARGUMENTS_INVALID',
      ],
    );
  });

  test('with --stdin a file that has changed is read again, and a shorter result replaces a longer one', async () => {
    await sealing('--anchor', file('ca.pem'));
    const child = spawn(
      process.execPath,
      [path.resolve(import.meta.dirname, '../../../bin/openhisp.js'), 'agent', '--stdin'],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const ask = async (line: string): Promise<{ verdict: string }> => {
      child.stdin.write(`${JSON.stringify(inFolder(line))}\n`);
      return JSON.parse(String((await answers.next()).value)) as { verdict: string };
    };
    const open = 'open --in sealed.eml --key changing.pem --cert bob.pem --anchor ca.pem --out result.eml';
    await writeFile(file('changing.pem'), await readFile(file('key.pem')));
    await writeFile(file('result.eml'), 'x'.repeat(100_000));
    assert.equal((await ask(open)).verdict, 'accept');
    assert.equal(await readFile(file('result.eml'), 'utf8'), plain);
    const other = await createKeyPair();
    await writeFile(file('changing.pem'), other.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    assert.equal((await ask(open)).verdict, 'reject');
    child.stdin.end();
  });

  test('an answer that cannot be written is no refusal', async () => {
    const parties = ['--final-recipient', bob, '--original-sender', alice];
    const about = ['--original-message-id', '<1@direct.alpha.example>'];
    await run('mdn', 'make', ...parties, ...about, '--out', file('unwritten.eml'));
    const full = openSync('/dev/full', 'w');
    const { status } = spawnSync(
      process.execPath,
      [path.join(root, 'bin/openhisp.js'), 'agent', 'mdn', 'read', '--in', file('unwritten.eml')],
      { stdio: ['ignore', full, 'ignore'] },
    );
    closeSync(full);
    assert.equal(status, 2);
  });

  test('mdn make and read', async () => {
    const made = await run(
      'mdn',
      'make',
      '--final-recipient',
      bob,
      '--original-sender',
      alice,
      '--original-message-id',
      '<1@direct.alpha.example>',
      '--out',
      file('mdn.eml'),
    );
    assert.equal(made.exitCode, 0);
    const { answer } = await run('mdn', 'read', '--in', file('mdn.eml'));
    assert.deepEqual(
      [answer['kind'], answer['disposition'], answer['finalRecipient']],
      ['mdn', 'processed', bob],
    );
    const other = await run('mdn', 'read', '--in', file('plain.eml'));
    assert.deepEqual([other.answer['reason'], other.exitCode], ['AGENT_NOT_AN_MDN', 1]);
  });

  test('xdm pack and unpack', async () => {
    await writeFile(file('note.txt'), 'a note');
    const packed = await run(
      'xdm',
      'pack',
      '--document',
      file('note.txt'),
      '--from',
      alice,
      '--to',
      bob,
      '--out',
      file('package.zip'),
    );
    assert.equal(packed.exitCode, 0, JSON.stringify(packed.answer));
    const { answer } = await run('xdm', 'unpack', '--in', file('package.zip'), '--out', file('unpacked'));
    const [document] = answer['documents'] as { mediaType: string; writtenAs: string }[];
    assert.equal(document?.mediaType, 'text/plain');
    assert.equal(await readFile(path.join(file('unpacked'), document.writtenAs), 'utf8'), 'a note');
    const bad = await run('xdm', 'unpack', '--in', file('note.txt'));
    assert.deepEqual([bad.answer['verdict'], bad.exitCode], ['reject', 1]);
  });
});
