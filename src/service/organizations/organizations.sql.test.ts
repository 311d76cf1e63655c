import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock, errorCode, silentLog, type CodedError } from '../../core/index.ts';
import { createVault, type Storage } from '../../platform/index.ts';
import { createAudit, type Audit } from '../audit/index.ts';
import { createOrganizations, operatorOrganization, type Organizations } from './index.ts';

const clock = createManualClock(new Date('2026-06-01T12:00:00Z'));
let storage: Storage;
let audit: Audit;
let organizations: Organizations;

before(async () => {
  storage = await openTestStorage();
  const vault = createVault(Buffer.alloc(32, 1));
  audit = createAudit({ storage, vault, clock, log: silentLog });
  organizations = createOrganizations({ storage, vault, clock, audit });
});
after(async () => {
  await audit.close();
  await storage.close();
});

test("the operator's own organization is there from the start, and keeps what is stored of it", async () => {
  assert.deepEqual(
    (await organizations.list()).map(({ id }) => id),
    [operatorOrganization],
  );
  await organizations.update(operatorOrganization, { npi: '1234567893' });
  const changed = await organizations.update(operatorOrganization, { name: 'Example HISP' });
  assert.deepEqual([changed.name, changed.npi], ['Example HISP', '1234567893']);
  await assert.rejects(organizations.create({ name: 'x', id: operatorOrganization }), {
    code: 'ORGANIZATION_EXISTS',
  });
});

test('an organization is added once, changed in part, and each change is in the audit trail', async () => {
  const made = await organizations.as('operator:alice').create({
    id: 'clinic',
    name: 'Clinic',
    npi: '1234567893',
    postalAddress: { city: 'Boston', state: 'ma', zip: '02139' },
    contacts: ['Office, +1 617 555 0100'],
  });
  await assert.rejects(organizations.create({ name: 'Again', id: 'clinic' }), {
    code: 'ORGANIZATION_EXISTS',
  });
  clock.advance(1000);
  const changed = await organizations.update('clinic', { postalAddress: { street: '1 Main St' } });
  assert.deepEqual(changed, {
    ...made,
    postalAddress: { street: '1 Main St', city: 'Boston', state: 'MA', zip: '02139' },
    updatedAt: clock.now(),
  });
  assert.deepEqual(await organizations.get('clinic'), changed);
  const rows = await audit.find({ action: 'organization.create', limit: 10 });
  assert.deepEqual(
    rows.map(({ actor, objects }) => [actor, objects['organization']]),
    [['operator:alice', 'clinic']],
  );
  assert.match((await organizations.create({ name: 'No id' })).id, /^org-[0-9a-f]{12}$/);
});

test('a wrong setting is refused by the name of its field, and nothing is stored', async () => {
  const wrong: readonly (readonly [string, object])[] = [
    ['id', { id: 'Clinic A' }],
    ['name', { name: 'two\nlines' }],
    ['npi', { npi: '1234567890' }],
    ['npi', { npi: '123' }],
    ['state', { postalAddress: { state: 'XX' } }],
    ['zip', { postalAddress: { zip: '2139' } }],
    ['street', { postalAddress: { street: 'x'.repeat(201) } }],
    ['city', { postalAddress: { city: ' ' } }],
    ['contacts', { contacts: [''] }],
    ['contacts', { contacts: Array.from({ length: 11 }, () => 'x') }],
  ];
  for (const [field, settings] of wrong)
    await assert.rejects(
      organizations.create({ id: 'wrong', name: 'Wrong', ...settings }),
      (error: CodedError) => {
        assert.equal(error.code, 'ORGANIZATION_SETTINGS_INVALID');
        assert.deepEqual(
          error.problems.map((problem) => problem.field),
          [field],
        );
        return true;
      },
    );
  await assert.rejects(organizations.get('wrong'), { code: 'ORGANIZATION_UNKNOWN' });
  await assert.rejects(organizations.update('wrong', { name: 'x' }), { code: 'ORGANIZATION_UNKNOWN' });
});

test('a row that was changed by hand is refused and gets no new MAC', async () => {
  const { id } = await organizations.create({ name: 'Changed' });
  await storage
    .tables<{ organization: { id: string; npi: string } }>()
    .updateTable('organization')
    .set({ npi: '1234567893' })
    .where('id', '=', id)
    .execute();
  for (const use of [() => organizations.get(id), () => organizations.update(id, { name: 'Mine' })])
    assert.equal(errorCode(await use().catch((error: unknown) => error)), 'INTEGRITY_ROW_CHANGED');
});
