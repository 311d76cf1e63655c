/**
 * A whole HISP as a process, so that its memory can be measured from outside: `node hisp-child.ts FOLDER CLIENTS [NAME=VALUE…]`. Writes
 * one line of JSON when it is ready: its addresses and the tokens of its clients.
 */
import path from 'node:path';
import { silentLog } from '../../src/core/index.ts';
import { startHisp } from '../../src/app/server/index.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';

const [folder = '', clients = '1', ...settings] = process.argv.slice(2);
const hisp = await startHisp({
  config: loadConfig({
    OPENHISP_DATA_DIR: path.join(folder, 'data'),
    OPENHISP_HTTP_PORT: '0',
    OPENHISP_SMTP_PORT: '0',
    // Nobody answers there: what is sent waits.
    OPENHISP_DNS_RESOLVERS: '127.0.0.1:9',
    OPENHISP_MESSAGING_SENDS_PER_SECOND: '10000',
    OPENHISP_MESSAGING_SENDS_BURST: '10000',
    ...Object.fromEntries(settings.map((text) => text.split('=', 2) as [string, string])),
  }),
  log: silentLog,
});
const address = parseDirectAddress('alice@direct.alpha.example');
await hisp.trust.addDomain('direct.alpha.example');
await hisp.trust.putAddress(address);
const tokens: string[] = [];
for (let count = 0; count < Number(clients); count++) {
  const { clientId, clientSecret } = await hisp.oauth.clients.create({
    name: `client ${count}`,
    scopes: ['messaging.api'],
    directAddresses: [address],
  });
  const response = await fetch(`${hisp.baseUrl}/oauth2/direct/v1/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  tokens.push(((await response.json()) as { access_token: string }).access_token);
}
process.stdout.write(
  `${JSON.stringify({ baseUrl: hisp.baseUrl, consoleUrl: hisp.consoleUrl, smtpPort: hisp.smtpPort, tokens })}\n`,
);
process.once('SIGTERM', () => void hisp.close().then(() => process.exit(0)));
