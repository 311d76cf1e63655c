/**
 * Installs the independent programs that tests talk to, from Debian's packages: when run as root where apt-get works; and the
 * generators of API clients, from the npm registry.
 * Otherwise, and for packages that cannot be installed, it prints their names and the reason; the tests that need them are skipped.
 * Nothing is left running: the packages' services are kept from starting.
 *
 * Usage: `node tools/install-peers.ts [--required]`; the exit status is 0 unless something `--required` is missing.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { installGenerators } from '../test/support/client-generators.ts';
import { findProgram } from '../test/support/processes.ts';

interface Peer {
  readonly debianPackage: string;
  readonly program: string;
  readonly purpose: string;
}

const peers: readonly Peer[] = [
  { debianPackage: 'openssl', program: 'openssl', purpose: 'S/MIME messages made and read by others' },
  { debianPackage: 'bind9', program: 'named', purpose: 'an authoritative DNS server to ask' },
  { debianPackage: 'bind9-dnsutils', program: 'dig', purpose: 'a DNS client that asks our server' },
  { debianPackage: 'slapd', program: 'slapd', purpose: 'an LDAP server to ask' },
  { debianPackage: 'ldap-utils', program: 'ldapsearch', purpose: 'an LDAP client that asks our responder' },
  { debianPackage: 'postfix', program: 'postfix', purpose: 'a mail server between two of ours' },
  {
    debianPackage: 'libsasl2-modules',
    program: '/usr/lib/x86_64-linux-gnu/sasl2/libplain.so',
    purpose: 'its sign-in to our submission',
  },
  { debianPackage: 'postgresql', program: 'postgres', purpose: 'the database of several nodes' },
  { debianPackage: 'prometheus', program: 'promtool', purpose: 'a checker of alert rules' },
  { debianPackage: 'curl', program: 'curl', purpose: 'the commands of the guide' },
  { debianPackage: 'isync', program: 'mbsync', purpose: 'a program that copies mailboxes' },
  { debianPackage: 'fetchmail', program: 'fetchmail', purpose: 'a program that collects mail' },
  { debianPackage: 'getmail6', program: 'getmail', purpose: 'another one' },
  { debianPackage: 'neomutt', program: 'neomutt', purpose: 'a mail program' },
  { debianPackage: 'dovecot-lmtpd', program: 'dovecot', purpose: 'a mail store' },
  { debianPackage: 'default-jdk-headless', program: 'javac', purpose: 'the language of eCRNow' },
  {
    debianPackage: 'libmail-java',
    program: '/usr/share/java/javax.mail.jar',
    purpose: 'the mail client of Java',
  },
  { debianPackage: 'python3', program: 'python3', purpose: 'the mail clients of another language' },
  { debianPackage: 'jq', program: 'jq', purpose: 'the commands of the guide' },
  { debianPackage: 'gcc', program: 'cc', purpose: 'a library of faults of disk and clock' },
  { debianPackage: 'chromium', program: 'chromium', purpose: 'a browser for the console' },
];

export interface MissingPeer {
  readonly program: string;
  readonly debianPackage: string;
  readonly purpose: string;
  readonly reason: string;
}

/** Installs missing packages that may be installed; returns those still missing. Instant when none is missing. */
export async function installPeers(): Promise<readonly MissingPeer[]> {
  return [...installDebianPeers(), ...installClientGenerators()];
}

function installClientGenerators(): readonly MissingPeer[] {
  const reason = installGenerators();
  if (reason === undefined) return [];
  const peer = { program: 'client generators', debianPackage: 'npm', purpose: 'API clients made by others' };
  console.log(`peer missing: ${peer.program}, ${peer.purpose}: ${reason}`);
  return [{ ...peer, reason }];
}

function installDebianPeers(): readonly MissingPeer[] {
  const wanted = findMissing();
  if (wanted.length === 0) return [];
  const obstacle = findObstacle();
  const failure = obstacle ?? install(wanted);
  const missing = findMissing().map((peer) => ({
    ...peer,
    reason: failure ?? 'its package does not bring it',
  }));
  for (const peer of missing) {
    console.log(`peer missing: ${peer.program} (${peer.debianPackage}), ${peer.purpose}: ${peer.reason}`);
  }
  return missing;
}

function findMissing(): readonly Peer[] {
  return peers.filter(({ program }) =>
    // A library is no program, and has its path.
    program.startsWith('/') ? !existsSync(program) : findProgram(program) === undefined,
  );
}

function findObstacle(): string | undefined {
  if (findProgram('apt-get') === undefined) return 'there is no apt-get here';
  if (process.getuid?.() !== 0) return 'installing needs root';
  return undefined;
}

/** Answers to the questions that the packages ask: nothing is configured, the tests bring their own configuration. */
const answers = `postfix postfix/main_mailer_type select No configuration
slapd slapd/no_configuration boolean true
`;

function install(wanted: readonly Peer[]): string | undefined {
  console.log(`installing: ${wanted.map((peer) => peer.debianPackage).join(' ')}`);
  const allowServices = forbidServices();
  try {
    if (findProgram('debconf-set-selections') !== undefined) run('debconf-set-selections', [], answers);
    const update = run('apt-get', ['update', '-q']);
    const all = installPackages(wanted.map((peer) => peer.debianPackage));
    if (all === undefined) return undefined;
    // One package that cannot be had must not take the others along.
    const failures = wanted
      .map((peer) => installPackages([peer.debianPackage]))
      .filter((text) => text !== undefined);
    return failures.length === 0 ? undefined : `apt-get failed: ${update ?? failures[0]}`;
  } finally {
    allowServices();
  }
}

function installPackages(packages: readonly string[]): string | undefined {
  return run('apt-get', ['install', '-q', '-y', '--no-install-recommends', ...packages]);
}

/** Undefined on success, else the last line of its output. */
function run(command: string, args: readonly string[], input = ''): string | undefined {
  const result = spawnSync(command, args, {
    input,
    encoding: 'utf8',
    timeout: 10 * 60_000,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
  });
  if (result.status === 0) return undefined;
  const lines = `${result.stdout ?? ''}\n${result.stderr ?? ''}`.trim().split('\n');
  return (
    result.error?.message ?? lines.findLast((line) => line.startsWith('E:')) ?? lines.at(-1) ?? 'no output'
  );
}

const policyFile = '/usr/sbin/policy-rc.d';

/** Debian asks this file before it starts a service; 101 forbids it. A file that is there already is left alone. */
function forbidServices(): () => void {
  if (existsSync(policyFile)) return () => {};
  writeFileSync(policyFile, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  return () => rmSync(policyFile, { force: true });
}

if (import.meta.main) {
  const missing = await installPeers();
  if (missing.length === 0) console.log('all peers are installed');
  process.exitCode = missing.length > 0 && process.argv.includes('--required') ? 1 : 0;
}
