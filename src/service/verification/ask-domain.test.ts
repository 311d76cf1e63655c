import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DnsError, type DnsAnswer } from '../../lib/dns/index.ts';
import { findNameServer } from './ask-domain.ts';

const find = (answer: DnsError | readonly string[]) =>
  findNameServer(
    'clinic.example',
    {
      resolveNs: async (): Promise<DnsAnswer<string>> => {
        if (answer instanceof DnsError) throw answer;
        return { status: 'found', records: answer, ttlSeconds: 60, transport: 'udp' };
      },
    },
    async () => {},
  );

test('the DNS operator of a domain is the domain of its name servers, or itself if nobody answers', async () => {
  assert.equal(await find(['ns2.dns.example', 'NS1.dns.example']), 'dns.example');
  assert.equal(await find(new DnsError('DNS_TIMEOUT', 'no answer')), 'clinic.example');
});

test('an operator that could not be asked for, because there was no socket, is asked for again', () =>
  assert.rejects(find(new DnsError('DNS_NO_SOCKET', 'no socket')), { code: 'DNS_NO_SOCKET' }));
