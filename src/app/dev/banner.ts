import path from 'node:path';
import type { SandboxEdge } from './sandbox-edges.ts';
import type { Sandbox } from './sandbox.ts';
import { demoAddress, domains, echoAddress, loopbackAddresses, partners } from './sandbox-names.ts';
import { quoteForShell } from '../../core/index.ts';

/** The banner of the ready sandbox: addresses, the demo client, and commands to paste. */
export function formatBanner(sandbox: Sandbox, currentDir: string): string {
  const { world, credentials } = sandbox;
  const shown = (file: string): string => {
    const relative = path.relative(currentDir, file);
    return quoteForShell(relative.startsWith('..') ? file : relative);
  };
  const { baseUrl } = credentials;
  const { isOnPostgres } = sandbox;
  const width = Math.max(...Object.keys(partners).map((name) => name.length));
  const outcomes = Object.entries(partners).map(([name, address]) => `    ${name.padEnd(width)}  ${address}`);
  const bearer = '-H "Authorization: Bearer $TOKEN"';
  return `
openhisp sandbox is ready

  API                  ${baseUrl}     (description: ${baseUrl}/docs)
  console              ${sandbox.consoleLink ?? 'switched off'}
  partner HISP         ${world.partner.baseUrl}
  mail servers         ours ${loopbackAddresses.own}:${world.smtpPort}, the partner's ${loopbackAddresses.partner}:${world.smtpPort}
  DNS server           127.0.0.1:${world.dns.port}   (UDP and TCP)
  authority, webhooks  ${world.side.baseUrl}/ca/sandbox.cer, ${world.side.baseUrl}/webhook

  edges                ${edgeNames
    .flatMap((name) => (sandbox.edge[name] === undefined ? [] : [`${name} ${sandbox.edge[name]}`]))
    .join(', ')}

  client id            ${credentials.clientId}
  client secret        ${credentials.clientSecret}
  your address         ${demoAddress}
  all of it            ${shown(sandbox.credentialsFile)}

  The recipient decides the outcome of a message:
${outcomes.join('\n')}
    ${'(answers)'.padEnd(width)}  ${echoAddress}

Paste these into another terminal, in this folder:

. ${shown(sandbox.envFile)}
TOKEN=$(curl -s -u "$CLIENT_ID:$CLIENT_SECRET" -d grant_type=client_credentials --data-urlencode "scope=provider-directory messaging.api" "$BASE_URL/oauth2/direct/v1/token" | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')

# search by name; within 25 miles of a ZIP code, nearest first
curl -s ${bearer} "$BASE_URL/provider-directory/v2/providers?prov_last_name=smith&limit=2"; echo
curl -s ${bearer} "$BASE_URL/provider-directory/v2/providers?prov_spec_text=cardio&org_zip=60601&radius=25&limit=2"; echo

# send a referral note, and read its status
ID=$(curl -s ${bearer} -H "Content-Type: application/json" -d @${shown(sandbox.sendFile)} "$BASE_URL/messaging/dirmsg/send_ccda" | sed 's/.*"messageId":"\\([^"]*\\)".*/\\1/'); echo "$ID"
sleep 2; curl -s ${bearer} "$BASE_URL/messaging/dirmsg/status/$ID"; echo

# what has arrived, and the webhook calls that were made
curl -s ${bearer} "$BASE_URL/messaging/dirmsg/inbox"; echo
curl -s ${world.side.baseUrl}/webhook

${edgeCommands(sandbox.edge)}
# look at it as its operator${isOnPostgres ? ', with OPENHISP_STORAGE_URL as here' : ''}
npx openhisp address list ${domains.own} --data-dir ${shown(sandbox.dataDir)}
npx openhisp audit list --limit 5 --data-dir ${shown(sandbox.dataDir)}

Ctrl-C stops the sandbox; the next start finds everything again.
`;
}

const edgeNames = ['line', 'smtps', 'submission', 'imaps', 'pop3s'] as const;

/** A command for each edge that runs, with the variables of `env.sh`; what is sent is answered. */
export function edgeCommands(edge: SandboxEdge): string {
  const signedIn = 'curl -sS --cacert "$EDGE_CA" -u "$EDGE_USER:$EDGE_PASSWORD"';
  const mail = (subject: string): string =>
    `printf 'From: %s\\r\\nTo: ${echoAddress}\\r\\nSubject: ${subject}\\r\\n\\r\\nHello\\r\\n' "$EDGE_USER"`;
  const submitted = `--mail-from "$EDGE_USER" --mail-rcpt ${echoAddress} -T -`;
  const text = 'Hello by line';
  const line = `AUTH %s %s\\nTO ${echoAddress}\\nTEXT ${text.length}\\n${text}SEND\\nCHECK\\nBYE\\n`;
  const commands = {
    line: `# the line edge, as OpenEMR speaks to it: send, then ask for what has come
printf '${line}' "$EDGE_USER" "$EDGE_PASSWORD" | openssl s_client -quiet -verify_quiet -verify_return_error -verify_ip 127.0.0.1 -CAfile "$EDGE_CA" -connect ${edge.line}`,
    smtps: `# send by SMTP with TLS, and by submission with STARTTLS; the partner answers both
${mail('by smtps')} | ${signedIn} ${submitted} smtps://${edge.smtps}`,
    submission: `${mail('by submission')} | ${signedIn} --ssl-reqd ${submitted} smtp://${edge.submission}`,
    imaps: `# the mailbox of ${edge.address}: numbers by IMAP, with sizes by POP3
${signedIn} "imaps://${edge.imaps}/INBOX?ALL"`,
    pop3s: `${signedIn} pop3s://${edge.pop3s}/`,
  } as const;
  return edgeNames.flatMap((name) => (edge[name] === undefined ? [] : [commands[name], ''])).join('\n');
}
