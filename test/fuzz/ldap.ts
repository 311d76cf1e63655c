import { childAt, readAsn1, readSmallInteger } from '../../src/lib/asn1/index.ts';
import { LdapError } from '../../src/lib/ldap/errors.ts';
import { messageLength } from '../../src/lib/ldap/message-reader.ts';
import { respond } from '../../src/lib/ldap/respond.ts';
import { main, type FuzzTarget } from './fuzz.ts';

const tokens = [
  '\x30\x84\xff\xff\xff\xff',
  '\x30\x80',
  '\0\0',
  '\xa0\x82',
  '\xa1\0',
  '\xa2\x02\xa2\0',
  '\x87\x0bobjectClass',
  '\x04\x04mail',
  '\x02\x01\x80',
  '\x63',
  '\x60',
  '\x42\0',
];

const directory = {
  base: 'o=openhisp',
  findCertificates: (mail: string) => (mail.endsWith('example.org') ? [new Uint8Array(100)] : []),
  onError: (error: unknown) => {
    throw error;
  },
};

/** As the responder takes it from a connection: the first message, then what is left. */
async function run(bytes: Buffer): Promise<string> {
  const outcomes: string[] = [];
  let rest = bytes;
  try {
    for (let length = messageLength(rest, 16_384); length !== undefined && length <= rest.length;) {
      outcomes.push(await answer(rest.subarray(0, length)));
      rest = rest.subarray(length);
      length = messageLength(rest, 16_384);
    }
  } catch (error) {
    if (!(error instanceof LdapError)) throw error;
    outcomes.push('no LDAP');
  }
  return [...new Set(outcomes)].toSorted().join(', ') || 'too short';
}

async function answer(bytes: Buffer): Promise<string> {
  const { messages, isLast } = await respond(bytes, directory);
  const last = messages.at(-1);
  if (last === undefined) return isLast ? 'unbound' : 'abandoned';
  return `code ${readSmallInteger(childAt(childAt(readAsn1(last), 1), 0))}`;
}

export const ldapTarget: FuzzTarget = { name: 'ldap', tokens, run };

if (import.meta.main) await main(ldapTarget, process.argv.slice(2));
