import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createEdgeClient, demoAddress, ensureClient, partners } from '../../src/app/dev/index.ts';
import { readXdm } from '../../src/lib/xdm/index.ts';
import {
  openTestSandbox,
  readStatus,
  send,
  waitFor,
  type StatusAnswer,
  type TestSandbox,
} from './sandbox-fixture.ts';

const secretWords = [
  'Zyzzogeton',
  'Quillfeather',
  '19710305',
  'palpitations-under-the-moon',
  'Reason-for-referral-xyz',
];

let world: TestSandbox;

before(async () => {
  world = await openTestSandbox({
    'messaging.facilityType': '394759007^Independent provider site^2.16.840.1.113883.6.96',
    'messaging.practiceSetting': '394802001^General medicine^2.16.840.1.113883.6.96',
  });
});
after(() => world.close());

const note = Buffer.from(
  `<?xml version="1.0"?>\n<ClinicalDocument xmlns="urn:hl7-org:v3"><title>Zyzzogeton Quillfeather é \u0001</title></ClinicalDocument>`.replace(
    '\u0001',
    '',
  ),
);

function referral(to: unknown, extra: Readonly<Record<string, unknown>> = {}) {
  return {
    fromDirectAddress: demoAddress,
    toDirectAddress: to,
    messageSubject: 'Reason-for-referral-xyz',
    messageBody: 'palpitations-under-the-moon',
    patientLastname: 'Quillfeather',
    patientFirstname: 'Zyzzogeton',
    patientDOB: '19710305',
    emailAttachmentList: [
      {
        attachmentClass: 'text/xml',
        attachmentContent: note.toString('base64'),
        attachmentFileName: 'note.xml',
      },
    ],
    ...extra,
  };
}

async function partnerClient() {
  const file = path.join(world.folder, 'partner-client.json');
  return createEdgeClient(
    await ensureClient({ hisp: world.sandbox.world.partner, file, name: '', directAddresses: [] }),
  );
}

interface InboxPage {
  readonly result: readonly { readonly messageId: string; readonly fromDirectAddress: string }[];
}

/** Sends a referral and gives its name in the partner's inbox, where it came in last. */
async function sendToPartner(extra: Readonly<Record<string, unknown>>) {
  const id = await send(world.client, referral(partners.processed, extra));
  await waitFor(
    () => readStatus(world.client, id),
    (answer) => answer.result[0]?.final === true,
  );
  const partner = await partnerClient();
  const page = (await partner.get(
    `/messaging/dirmsg/inbox?toDirectAddress=${partners.processed}&limit=100`,
  )) as InboxPage;
  return { partner, messageId: page.result.at(-1)?.messageId ?? '' };
}

describe('token → search → send → processed', () => {
  it('reports whether an address is trusted and whether the directory lists it', async () => {
    const { providers } = (await world.client.get('/provider-directory/v2/providers?limit=1')) as {
      providers: { serv_direct_addr: string }[];
    };
    const listed = providers[0]?.serv_direct_addr ?? '';
    const { result } = (await world.client.post('/messaging/dirmsg/validate', {
      fromDirectAddress: demoAddress,
      toDirectAddress: [listed, partners.processed, partners.untrusted],
    })) as { result: { listed: boolean; trusted: boolean | null }[] };
    assert.equal(result[0]?.listed, true);
    assert.deepEqual(
      result.slice(1).map((check) => [check.trusted, check.listed]),
      [
        [true, false],
        [false, false],
      ],
    );
  });

  it('finds a provider, sends, and sees the message processed by the far side', async () => {
    const found = (await world.client.get(
      '/provider-directory/v2/providers?prov_last_name=smith&org_state=TX',
    )) as { totalCount: string };
    assert.match(found.totalCount, /^[1-9]\d*$/);
    const id = await send(world.client, referral(partners.processed));
    const status = await waitFor(
      () => readStatus(world.client, id),
      (answer) => answer.result[0]?.final === true,
    );
    assert.deepEqual([status.messageStatus, status.result[0]?.status], ['processed', 'processed']);

    const partner = await partnerClient();
    const page = (await partner.get(
      `/messaging/dirmsg/inbox?toDirectAddress=${partners.processed}`,
    )) as InboxPage;
    const entry = page.result.find((one) => one.fromDirectAddress === demoAddress);
    assert.ok(entry);
    const received = (await partner.get(`/messaging/dirmsg/inbox/${entry.messageId}`)) as {
      messageSubject: string;
      messageBody: string;
      emailAttachmentList: readonly { attachmentContent: string; attachmentFileName: string }[];
    };
    assert.equal(received.messageSubject, 'Reason-for-referral-xyz');
    assert.match(received.messageBody, /palpitations-under-the-moon/);
    assert.deepEqual(Buffer.from(received.emailAttachmentList[0]?.attachmentContent ?? '', 'base64'), note);
  });

  it('stores the month in which a recipient processed a message, and shows it on request', async () => {
    const check = async (): Promise<{ verification: object }> => {
      const { result } = (await world.client.post('/messaging/dirmsg/validate', {
        fromDirectAddress: demoAddress,
        toDirectAddress: [partners.processed],
        verification: true,
      })) as { result: [{ verification: object }] };
      return result[0];
    };
    const { verification } = await waitFor(
      check,
      (answer) => !JSON.stringify(answer).includes('"lastProcessedMonth":null'),
    );
    assert.deepEqual(verification, {
      state: 'unverified',
      reason: '',
      checkedTime: null,
      lastProcessedMonth: new Date().toISOString().slice(0, 7),
    });
  });

  it('the name of a partner address decides the outcome, for each recipient on its own', async () => {
    const id = await send(world.client, referral(Object.values(partners), { requestFinalDelivery: true }));
    const isSettled = (answer: StatusAnswer) =>
      answer.result.every(
        (one) => one.final || (one.toDirectAddress === partners.processed && one.status === 'processed'),
      );
    const status = await waitFor(() => readStatus(world.client, id), isSettled, 60);
    const outcomes = new Map(
      status.result.map((one) => [one.toDirectAddress, [one.status, one.reason, one.statusCode]]),
    );
    assert.deepEqual(outcomes.get(partners.processed)?.[0], 'processed');
    assert.deepEqual(outcomes.get(partners.dispatched)?.[0], 'dispatched');
    assert.equal(outcomes.get(partners.failed)?.[0], 'failed');
    assert.deepEqual(outcomes.get(partners.expired), ['expired', 'no-processed-mdn', '5.4.71']);
    assert.deepEqual(outcomes.get(partners.untrusted), ['failed', 'untrusted', '5.7.11']);
    assert.deepEqual(outcomes.get(partners.noCertificate), ['failed', 'no-certificate', '5.7.31']);
  });

  it('META-01: a send that says everything makes a package with full metadata', async () => {
    const everything = {
      xdm: true,
      loincValue: '57133-1',
      loincName: 'Referral note',
      patientId: 'X1',
      assigning_authority: '2.16.840.1.113883.19.5',
      patientGender: 'F',
      authorPerson: 'Physician^Demo',
      authorInstitution: 'Riverside Family Practice^^^^^^^^^2.16.840.1.113883.19.6',
    };
    const ccda = await readFile(new URL('../../src/app/dev/data/referral-note.xml', import.meta.url));
    const attachment = { attachmentClass: 'text/xml', attachmentContent: ccda.toString('base64') };
    const { partner, messageId } = await sendToPartner({ ...everything, emailAttachmentList: [attachment] });
    const packed = (await partner.get(`/messaging/dirmsg/inbox/${messageId}?xdm=true`)) as {
      emailAttachmentList: readonly { attachmentContent: string }[];
    };
    const opened = await readXdm(
      Buffer.from(packed.emailAttachmentList[0]?.attachmentContent ?? '', 'base64'),
    );
    assert.deepEqual([opened.metadataLevel, opened.documents.length, opened.warnings], ['full', 1, []]);
    assert.deepEqual(Buffer.from(opened.documents[0]?.content ?? []), ccda);
  });
});

it('SEC-03, SEC-05: no patient data in the log, and none readable in the database', async () => {
  await world.sandbox.world.hisp.audit.flush();
  const log = world.logged.join('\n');
  for (const [index, database] of world.databases.entries()) {
    const bytes = await database.readAll();
    assert.ok(bytes.includes(demoAddress));
    for (const word of secretWords)
      assert.equal(bytes.includes(word), false, `${word} stands in database ${index}`);
  }
  for (const word of [
    ...secretWords,
    note.toString('base64').slice(0, 60),
    world.sandbox.credentials.clientSecret,
  ]) {
    assert.equal(log.includes(word), false, `${word} stands in the log`);
  }
});
